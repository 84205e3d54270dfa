import { age, moment } from 'comanda/internal';
import { type Style, styled, visible } from './visible.js';
import { widthOf, wrap } from './width.js';

/** Width of texts on a screen: lines longer than this are hard to read. */
const READABLE = 110;

/** The colour of a state: what needs a person is red, what moves is plain. */
export function stateStyle(state: string): readonly Style[] {
  switch (state) {
    case 'unknown':
    case 'failed':
      return ['red'];
    case 'completed':
      return ['green'];
    case 'cancelled':
      return ['dim'];
    case 'sending':
      return ['bold'];
    default:
      return [];
  }
}

/** An age, or nothing. */
export function ageOrNothing(ms: number | null): string {
  return ms === null ? '' : age(ms);
}

/** A moment, or nothing. */
export function momentOrNothing(iso: string | null): string {
  return iso === null ? '' : moment(iso);
}

/** A whole number with thin groups: `1 204`. */
export function grouped(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ' ');
}

/** A paragraph of a stranger's words: escaped, wrapped to the screen, indented. The first line may begin with something else of the same width. */
export function paragraph(text: string, columns: number | undefined, indent = '', first = indent): readonly string[] {
  const harmless = visible(text);
  if (columns === undefined) return [first + harmless];
  const width = Math.max(20, Math.min(columns, READABLE) - widthOf(indent));
  return wrap(harmless, width).map((line, i) => (i === 0 ? first : indent) + line);
}

/** A heading. */
export function heading(text: string): string {
  return styled(visible(text), 'bold');
}
