import type { Command } from 'commander';
import type { DatabaseOptions } from './command.js';

/** Flags of everything that changes something: the record says who and why. */
export interface ActOptions extends DatabaseOptions {
  readonly by: string;
  readonly reason: string;
  readonly json?: boolean;
}

/** Adds the flags of {@link ActOptions}. */
export function withActOptions(cmd: Command): Command {
  return cmd
    .requiredOption('--by <name>', 'who asks for it; kept with the record')
    .requiredOption('--reason <text>', 'why; kept with the record');
}
