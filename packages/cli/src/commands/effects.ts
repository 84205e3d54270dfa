import type { Command } from 'commander';
import { command } from '../command.js';
import type { Context } from '../context.js';
import { cancelCommand } from './effects-cancel.js';
import { listCommand } from './effects-list.js';
import { redriveCommand, releaseCommand, resolveCommand, skipCommand } from './effects-request.js';
import { showCommand } from './effects-show.js';

export function effectsCommand(context: Context): Command {
  const effects = command('effects', 'list, show, cancel, skip, redrive, release or resolve effects');
  for (const make of [
    listCommand,
    showCommand,
    cancelCommand,
    skipCommand,
    redriveCommand,
    releaseCommand,
    resolveCommand,
  ]) {
    effects.addCommand(make(context));
  }
  return effects;
}
