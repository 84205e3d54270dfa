import type { WriteStream } from 'node:tty';
import { fit } from './style.js';

/** A part of the terminal that is drawn again in place. */
export interface Screen {
  draw(lines: readonly string[]): void;
  /** Leaves what was drawn last where it is, and gives the cursor back. */
  close(): void;
}

const HIDE = '\u001b[?25l';
const SHOW = '\u001b[?25h';
const CLEAR_LINE = '\u001b[2K';
const CLEAR_BELOW = '\u001b[J';

/** Draws in place, never wider or higher than the terminal: a wrapped or scrolled line could not be drawn over. */
export function openScreen(stream: WriteStream): Screen {
  let drawn = 0;
  let open = true;
  stream.write(HIDE);
  return {
    draw(lines) {
      if (!open) return;
      const shown = lines.slice(0, Math.max(1, stream.rows - 1)).map((line) => fit(line, stream.columns - 1));
      const up = drawn === 0 ? '' : `\u001b[${drawn}A`;
      stream.write(`${up}\r${shown.map((line) => `${CLEAR_LINE}${line}\n`).join('')}${CLEAR_BELOW}`);
      drawn = shown.length;
    },
    close() {
      if (open) stream.write(SHOW);
      open = false;
    },
  };
}
