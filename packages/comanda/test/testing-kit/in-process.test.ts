import { createProviderDouble, effectInProcess, exerciseEffect } from 'comanda/testing';
import { expect, it, onTestFinished } from 'vitest';

const module = new URL('./fixtures/process-handlers.mjs', import.meta.url);
const ORDER = { order: 'ORD-2041', amount: 2154 };
const KILLED = 'the process is killed after the provider acted, before it read the answer';
const WRONG_CLOCK = 'the clock of the next process is an hour ahead';

async function exercised(make: string, only: readonly string[]) {
  const provider = await createProviderDouble();
  const effect = await effectInProcess({ module, make, args: [provider.url] });
  onTestFinished(async () => {
    await effect.close();
    await provider.close();
  });
  return await exerciseEffect(effect, { input: ORDER, provider, only });
}

it('a handler in a process of its own is killed for real: what it kept in memory is gone', async () => {
  const report = await exercised('remembering', [KILLED]);
  expect(report.problems).toMatchObject([{ check: 'bytes-differ' }, { check: 'acted-twice', scenarios: [KILLED] }]);
});

it('a good handler in a process of its own has no problem, and sees its signal and the wrong clock', async () => {
  const report = await exercised('careful', [
    KILLED,
    WRONG_CLOCK,
    'the lease is lost while the provider works',
    'the connection is refused',
    'another decision with the same input',
  ]);
  expect(report.problems).toEqual([]);
  const dated = await exercised('dated', [WRONG_CLOCK]);
  expect(dated.problems).toMatchObject([{ check: 'bytes-differ' }]);
});

it('a module without the handler is refused with its reason', async () => {
  await expect(effectInProcess({ module, make: 'missing' })).rejects.toThrow(
    /process-handlers\.mjs exports no missing/,
  );
});
