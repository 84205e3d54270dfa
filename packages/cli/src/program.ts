import type { Command } from 'commander';
import { command } from './command.js';
import { adoptCommand } from './commands/adopt.js';
import { attentionCommand } from './commands/attention.js';
import { devCommand } from './commands/dev.js';
import { effectsCommand } from './commands/effects.js';
import { explainCommand } from './commands/explain.js';
import { migrateCommand } from './commands/migrate.js';
import { relayCommand } from './commands/relay.js';
import { statusCommand } from './commands/status.js';
import { switchCommand } from './commands/switch.js';
import { targetsCommand } from './commands/targets.js';
import type { Context } from './context.js';
import { version } from './version.js';

/** The whole command line. Nothing happens before one of its commands is parsed. */
export function createProgram(context: Context): Command {
  const program = command(
    'comanda',
    'record decisions and their effects in PostgreSQL; execute the effects apart, effectively once',
  ).version(version(), '-V, --version', 'print the version');
  for (const make of [
    devCommand,
    migrateCommand,
    relayCommand,
    statusCommand,
    attentionCommand,
    effectsCommand,
    explainCommand,
    switchCommand,
    targetsCommand,
    adoptCommand,
  ]) {
    program.addCommand(make(context));
  }
  return program;
}
