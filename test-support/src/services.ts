import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

// Servers are installed where an ordinary user's PATH does not look.
const ALSO = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

/** Path of a program on the PATH or in the usual places of servers; `undefined` when it is not installed. */
export function programPath(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== ''), ...ALSO];
  return folders.map((dir) => join(dir, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Skips the test, saying how to install what is missing, or fails it when COMANDA_REQUIRE (a comma-separated list of names)
 * says that it must not be skipped.
 */
export function needService(
  context: { skip(reason: string): void },
  name: string,
  available: boolean,
  install: string,
): void {
  if (available) return;
  const required = (process.env['COMANDA_REQUIRE'] ?? '').split(',').map((item) => item.trim());
  const reason = `${name} is not installed. To run this test: ${install}`;
  if (required.includes(name)) throw new Error(`${reason} (COMANDA_REQUIRE names ${name}, so the test is not skipped)`);
  context.skip(reason);
}
