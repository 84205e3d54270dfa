import { unstyled } from './visible.js';

const SEGMENTS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Scripts and symbols that terminals draw in two columns (Unicode East Asian Width W and F, and emoji). */
const WIDE =
  /^(?:\p{Emoji_Presentation}|.\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])/u;
const PLAIN = /^[\u0020-\u007e]*$/;
const NO_WIDTH = /^\p{Mark}+$/u;

/** Columns that a line takes on a terminal. */
export function widthOf(line: string): number {
  const text = unstyled(line);
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of SEGMENTS.segment(text)) width += segmentWidth(segment);
  return width;
}

/** Cuts to at most `width` columns, mark included. Only for texts without styles. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let room = width - 1;
  let kept = '';
  for (const { segment } of SEGMENTS.segment(text)) {
    room -= segmentWidth(segment);
    if (room < 0) break;
    kept += segment;
  }
  return width < 1 ? '' : `${kept}…`;
}

/** Breaks a text into lines of at most `width` columns, at spaces where there are any. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((long) => pieces(long, width))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && widthOf(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

function pieces(word: string, width: number): readonly string[] {
  if (widthOf(word) <= width) return [word];
  const parts: string[] = [''];
  for (const { segment } of SEGMENTS.segment(word)) {
    const last = parts.at(-1) ?? '';
    if (widthOf(last + segment) > width) parts.push(segment);
    else parts[parts.length - 1] = last + segment;
  }
  return parts;
}

function segmentWidth(segment: string): number {
  if (NO_WIDTH.test(segment)) return 0;
  return WIDE.test(segment) ? 2 : 1;
}
