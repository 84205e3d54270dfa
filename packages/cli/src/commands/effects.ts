import type { Command } from 'commander';
import { command } from '../command.js';
import type { Context } from '../context.js';
import { cancelCommand } from './effects-cancel.js';
import { listCommand } from './effects-list.js';
import { redriveCommand, resolveCommand, skipCommand } from './effects-request.js';
import { showCommand } from './effects-show.js';

export function effectsCommand(context: Context): Command {
  const effects = command('effects', 'list, show, cancel, skip, redrive or resolve effects');
  for (const make of [listCommand, showCommand, cancelCommand, skipCommand, redriveCommand, resolveCommand]) {
    effects.addCommand(make(context));
  }
  return effects;
}
