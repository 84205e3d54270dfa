import { existsSync } from 'node:fs';
import { eventually, spawnNode, spawnProgram } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';

const talker = new URL('./fixtures/talker.mjs', import.meta.url);
const parent = new URL('./fixtures/parent.mjs', import.meta.url);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a child process', () => {
  it('speaks JSON lines both ways; other output is kept for messages', async () => {
    const child = spawnNode(talker, ['there'], { env: { FLAVOUR: 'sour' } });
    expect(await child.line((line) => 'hello' in line)).toEqual({ hello: 'there', pid: child.pid, env: 'sour' });
    child.send({ n: 1 });
    expect(await child.line((line) => 'echo' in line)).toEqual({ echo: { n: 1 } });
    expect(child.output()).toContain('not JSON');
    await eventually(() => child.output().includes('on stderr'));
  });

  it('tells how it ended', async () => {
    const leaving = spawnNode(talker);
    leaving.send({ exit: 3 });
    expect(await leaving.exited).toEqual({ code: 3, signal: null });
    expect(await leaving.kill()).toEqual({ code: 3, signal: null });
    const killed = spawnNode(talker);
    expect(await killed.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('that ends fails whoever waits for its line, with what it printed', async () => {
    const child = spawnNode(talker, ['short']);
    child.send({ exit: 0 });
    await expect(child.line((line) => line['never'] === true)).rejects.toThrow(
      /ended without the expected line.*short/s,
    );
    const missing = spawnProgram('/no/such/program', []);
    await expect(missing.line(() => true)).rejects.toThrow('could not be started');
  });

  it('can be paused, continued, and killed while paused', async () => {
    const child = spawnNode(talker);
    await child.line((line) => 'hello' in line);
    child.pause();
    child.send({ n: 1 });
    child.resume();
    await child.line((line) => 'echo' in line);
    child.pause();
    expect(await child.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' });
  });
});

let survivor = 0;
it('is started and forgotten by this test', async () => {
  const child = spawnNode(talker);
  await child.line((line) => 'hello' in line);
  survivor = child.pid;
});
it('is gone in the next', () => {
  expect(isAlive(survivor)).toBe(false);
});

it('when the testing process is killed, its children, theirs, and its temporary files are gone', async () => {
  const run = spawnNode(parent);
  const made = await run.line<{ child: number; gateway: number; folder: string }>((line) => 'gateway' in line);
  expect([isAlive(made.child), isAlive(made.gateway), existsSync(made.folder)]).toEqual([true, true, true]);
  await run.kill('SIGKILL');
  await eventually(() => !isAlive(made.child) && !isAlive(made.gateway) && !existsSync(made.folder));
});
