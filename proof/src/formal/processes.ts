import { spawnProgram } from '@comanda/test-support';

/** A search that did not come to its end: it proves nothing. */
export class Truncated extends Error {}

/**
 * Runs a tool and resolves to what it printed. Whatever still runs when this process ends is ended with it.
 *
 * @throws Truncated when it ran longer than `seconds`; Error when it was ended by somebody else
 */
export async function run(command: string, args: readonly string[], folder: string, seconds: number): Promise<string> {
  const child = spawnProgram(command, args, { cwd: folder, reap: false });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void child.kill();
  }, seconds * 1_000);
  const { signal, code } = await child.exited;
  clearTimeout(timer);
  if (late) throw new Truncated(`TRUNCATED: ${command} took longer than ${seconds} s`);
  if (signal !== null) throw new Error(`${command} was ended by ${signal}`);
  if (command === 'gcc' && code !== 0) throw new Error(`gcc failed:\n${child.output()}`);
  return child.output();
}
