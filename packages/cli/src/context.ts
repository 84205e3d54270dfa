import type { Environment } from './environment.js';
import type { ExitCode } from './exit-codes.js';
import type { Terminal } from './terminal.js';

/** What every command gets. */
export interface Context {
  readonly terminal: Terminal;
  readonly env: Environment;
  /** Told once a command knows its database, so that an error can name it. */
  readonly at: (shown: string) => void;
  /** How the command ended. */
  readonly done: (code: ExitCode) => void;
}
