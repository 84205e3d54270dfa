import { fileURLToPath } from 'node:url';
import { needService, programPath } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { check } from '../src/formal/checker.js';
import { CONFIGURATIONS } from '../src/formal/configurations.js';

const MODEL = fileURLToPath(new URL('../formal/', import.meta.url));
const installed = ['spin', 'gcc'].every((tool) => programPath(tool) !== undefined);

/** One configuration of the list, run. */
async function run(name: string) {
  const configuration = CONFIGURATIONS.find((one) => one.name === name);
  if (configuration === undefined) throw new Error(`no configuration ${name}`);
  return await check(MODEL, configuration);
}

describe('the formal model', () => {
  test('the engine as it is built breaks no property, and is searched to the end', async (context) => {
    needService(context, 'spin', installed, 'apt-get install spin gcc libc6-dev');
    expect(await run('still')).toMatchObject({ ok: true, verdict: 'holds' });
  });

  test('a settle without fence is caught, and told step by step', async (context) => {
    needService(context, 'spin', installed, 'apt-get install spin gcc libc6-dev');
    const found = await run('no-fence');
    expect(found).toMatchObject({ ok: true, verdict: 'caught by S4' });
    expect(found.trace.at(-1)).toMatch(/^relay \d settles effect \d: /);
    expect(found.trace).toContain('the lease ends, its owner lives');
  });

  test('every configuration has a name of its own', () => {
    const names = CONFIGURATIONS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
