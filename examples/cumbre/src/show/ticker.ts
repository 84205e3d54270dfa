import type { BoardState } from './board.js';
import { number, seconds } from './style.js';

const COLUMNS = ['time', 'pending', 'sending', 'completed', 'unknown', 'failed', 'oldest', 'rate', 'kills'] as const;
const WIDTHS = [6, 9, 9, 11, 9, 8, 9, 8, 7] as const;

/** The title of the lines of {@link tick}. */
export function tickTitle(): string {
  return line(COLUMNS);
}

/** The board as one line, for outputs that cannot be drawn over. */
export function tick({ ms, snapshot, rates, kills }: BoardState): string {
  const sum = (of: 'pending' | 'sending' | 'completed' | 'unknown' | 'failed'): string =>
    number(snapshot.kinds.reduce((total, kind) => total + kind[of], 0));
  return line([
    `${Math.round(ms / 1_000)} s`,
    sum('pending'),
    sum('sending'),
    sum('completed'),
    sum('unknown'),
    sum('failed'),
    seconds(snapshot.oldestMs),
    `${rates.at(-1) ?? 0}/s`,
    number(kills.flatMap(({ victims }) => victims).length),
  ]);
}

function line(cells: readonly string[]): string {
  return cells.map((cell, i) => cell.padStart(WIDTHS[i] ?? 0)).join('');
}
