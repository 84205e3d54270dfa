import type { AttentionRow } from 'comanda/internal';
import { ageOrNothing, heading, paragraph } from './format.js';
import { type Column, table } from './table.js';
import { styled } from './visible.js';

/** One block per sort of trouble: what to do about it, then where it is. */
export function attentionLines(
  rows: readonly AttentionRow[],
  suggest: (command: string) => string,
  columns: number | undefined,
): readonly string[] {
  if (rows.length === 0) return ['Nothing waits for a person.'];
  const kinds = [...new Set(rows.map((row) => row.what))];
  const blocks = kinds.map((what) =>
    block(
      what,
      rows.filter((row) => row.what === what),
      columns,
    ),
  );
  const story = rows.some((row) => row.run_key !== null)
    ? ['', styled(`The story of one key: ${suggest('comanda explain KEY')}`, 'dim')]
    : [];
  return [...blocks.flatMap((lines, i) => (i === 0 ? lines : ['', ...lines])), ...story];
}

function block(what: string, rows: readonly AttentionRow[], columns: number | undefined): readonly string[] {
  const advice = [...new Set(rows.map((row) => row.what_to_do))];
  const cells: readonly Column<AttentionRow>[] = [
    { title: 'effect', align: 'right', value: (r) => r.effect_id },
    { title: 'since', align: 'right', value: (r) => ageOrNothing(r.since_ms) },
    { title: 'decision', min: 14, value: (r) => r.run_key },
    { title: 'kind', min: 10, value: (r) => r.kind },
    // Of what stands for a whole destination.
    { title: 'target', min: 10, value: (r) => (r.kind === null ? r.target : null) },
    { title: 'reason', min: 16, value: (r) => r.reason },
  ];
  return [
    `${heading(what)}  ${styled(String(rows.length), 'dim')}`,
    ...advice.flatMap((text) => paragraph(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, columns)),
    ...table(cells, rows, columns),
  ];
}
