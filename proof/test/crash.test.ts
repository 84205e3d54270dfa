import { spawnNode } from '@comanda/test-support';
import { expect, it } from 'vitest';

const PROGRAM = new URL('../dist/crash/main.js', import.meta.url);

/** Runs `npm run crash` on the built output. Prints what it printed when the test fails: the seed repeats it. */
async function crash(...args: readonly string[]): Promise<{ code: number | null; figures: Record<string, number> }> {
  const child = spawnNode(PROGRAM, [...args, '--json', '--workers', '4']);
  const { code } = await child.exited;
  return { code, figures: (child.lines.at(-1) ?? {}) as Record<string, number> };
}

it('a sample of kills on every path: nothing is lost, nothing is doubled, nothing is left unattended', async () => {
  const { code, figures } = await crash('--sample', '24', '--seed', '1');
  expect(figures).toMatchObject({ lost: 0, duplicated: 0, unattended: 0, wrong: 0 });
  // On a busy machine a relay can take another way than it took when it was recorded.
  expect(figures['kills']).toBeGreaterThanOrEqual(23);
  expect(figures['reconciled']).toBe(figures['unknown']);
  expect(code).toBe(0); // also: without Comanda the same kills lose and double
}, 300_000);

it('names what is no option, no path and no number, and says how to call it', async () => {
  for (const args of [['--fast'], ['--path', 'nowhere'], ['--sample', 'many']]) {
    const child = spawnNode(PROGRAM, args);
    const { code } = await child.exited;
    expect(code).toBe(2);
    expect(child.output()).toContain('npm run crash --');
  }
});
