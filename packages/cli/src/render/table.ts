import { type Style, styled, visible } from './visible.js';
import { cut, widthOf } from './width.js';

/** One column. Values are texts of anybody: they are made harmless here. */
export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | null | undefined;
  /** Numbers and ages stand to the right. Default: left. */
  readonly align?: 'left' | 'right';
  /** Columns that may be cut, down to this width, when the terminal is too narrow. Default: never cut. */
  readonly min?: number;
  readonly style?: (row: Row) => readonly Style[];
}

const GAP = '  ';

/** Lines of a table: a title line, then one line per row. `width` is that of the terminal; `undefined` cuts nothing. A column without any value is left out. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width?: number): readonly string[] {
  const used = columns
    .map((column) => ({ column, cells: rows.map((row) => cell(column, row)) }))
    .filter(({ cells }) => cells.some((text) => text !== ''));
  const natural = used.map(({ column, cells }) => Math.max(widthOf(column.title), ...cells.map(widthOf)));
  const widths = fit(
    natural,
    used.map(({ column }) => column.min),
    width === undefined ? undefined : width - GAP.length * (used.length - 1),
  );
  const line = (texts: readonly string[], style: (index: number) => readonly Style[]): string =>
    texts
      .map((text, i) => {
        const size = widths[i] ?? 0;
        const short = cut(text, size);
        const pad = ' '.repeat(size - widthOf(short));
        const inked = styled(short, ...style(i));
        return used[i]?.column.align === 'right' ? pad + inked : inked + pad;
      })
      .join(GAP)
      .trimEnd();
  return [
    line(
      used.map(({ column }) => column.title),
      () => ['dim'],
    ),
    ...rows.map((row, r) =>
      line(
        used.map(({ cells }) => cells[r] ?? ''),
        (i) => used[i]?.column.style?.(row) ?? [],
      ),
    ),
  ];
}

function cell<Row>(column: Column<Row>, row: Row): string {
  const value = column.value(row);
  return value === null || value === undefined ? '' : visible(String(value));
}

/** Takes what is missing from the widest columns that may be cut, one column of the terminal at a time. */
function fit(
  natural: readonly number[],
  mins: readonly (number | undefined)[],
  room: number | undefined,
): readonly number[] {
  const widths = [...natural];
  if (room === undefined) return widths;
  for (let missing = widths.reduce((sum, w) => sum + w, 0) - room; missing > 0; missing--) {
    let widest = -1;
    widths.forEach((w, i) => {
      const min = mins[i];
      if (min !== undefined && w > min && (widest < 0 || w > (widths[widest] ?? 0))) widest = i;
    });
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 1) - 1;
  }
  return widths;
}
