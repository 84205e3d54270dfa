import type { Killed } from '../kill.js';
import type { NaiveEnd } from '../naive/orders.js';
import type { Recorded } from '../plan.js';
import { idOf, POINTS } from '../watch/boundary.js';
import { type Figures, figuresOf } from './figures.js';

type Cells = readonly (string | number)[];

const HEAD: Cells = [
  ...['path', 'boundaries', 'kills', 'lost', 'duplicated', 'unattended', 'otherwise wrong', 'unknown', 'reconciled'],
  'not reached',
];

/** One line for each path, then the sum, then the ways without Comanda. */
export function pathTable(
  recorded: readonly Recorded[],
  killed: readonly Killed[],
  naive: readonly NaiveEnd[],
): readonly Cells[] {
  const names = [...new Set(recorded.map(({ path }) => path.name))];
  const lines = names.map((name) => {
    const of = <Item extends { readonly path: { readonly name: string } }>(items: readonly Item[]) =>
      items.filter(({ path }) => path.name === name);
    return cells(name, figuresOf(of(recorded), of(killed)));
  });
  const ways = naive.map(({ way, boundaries, kills, lost, duplicated }) => [
    `without: ${way}`,
    boundaries,
    kills,
    lost,
    duplicated,
    ...['', '', '', '', ''],
  ]);
  return [HEAD, ...lines, cells('all paths', figuresOf(recorded, killed)), ...ways];
}

function cells(name: string, figures: Figures): Cells {
  const { boundaries, kills, lost, duplicated, unattended, wrong, unknown, reconciled, unreached } = figures;
  return [name, boundaries, kills, lost, duplicated, unattended, wrong, unknown, reconciled, unreached];
}

const SIDE = { before: 'before it leaves', sent: 'carried out, answer unread', answered: 'answer read' } as const;

/** What one path leaves behind at each boundary of one relay, in the order in which they come. */
export function storyTable(
  recorded: readonly Recorded[],
  killed: readonly Killed[],
  path: string,
  kind: string,
): readonly Cells[] {
  const isIts = (one: Recorded | Killed): boolean => one.path.name === path && one.kind === kind && one.relays === 1;
  const boundaries = recorded.find(isIts)?.boundaries ?? [];
  const lines = boundaries.flatMap((boundary) =>
    POINTS.flatMap((point) =>
      killed
        .filter((one) => isIts(one) && one.aim.point === point && idOf(one.aim.boundary) === idOf(boundary))
        .filter(({ verdict }) => verdict !== undefined)
        .map(({ left }) => [idOf(boundary), SIDE[point], left]),
    ),
  );
  return [['killed at', 'when', 'left behind'], ...lines];
}

/** For a terminal: columns of equal width, numbers to the right. */
export function asText(table: readonly Cells[]): string {
  const widths = (table[0] ?? []).map((_, i) => Math.max(...table.map((line) => String(line[i]).length)));
  const line = (row: Cells): string =>
    row
      .map((cell, i) => (i === 0 ? String(cell).padEnd(widths[i] ?? 0) : String(cell).padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return table.map(line).join('\n');
}

/** For a page. */
export function asMarkdown([head = [], ...lines]: readonly Cells[]): string {
  const row = (cells: Cells): string => `| ${cells.join(' | ')} |`;
  return [
    row(head),
    row(head.map((_, i) => (i === 0 ? '---' : typeof lines[0]?.[i] === 'number' ? '--:' : '---'))),
    ...lines.map(row),
  ].join('\n');
}
