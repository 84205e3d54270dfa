import { toTerminal, visible, visibleJson } from './render/visible.js';
import { wrap } from './render/width.js';

/** Where a command writes. Lines are made harmless on the way out. */
export interface Terminal {
  /** Columns of the screen; `undefined` when the output is not a screen: then nothing is cut or wrapped. */
  readonly columns: number | undefined;
  /** Whether a person watches. */
  readonly interactive: boolean;
  /** Results: standard output. */
  lines(lines: readonly string[]): void;
  /** One JSON document: standard output. */
  json(value: unknown): void;
  /** One JSON document on one line: standard output. */
  jsonLine(value: unknown): void;
  /** A text for another program, as it is: standard output. */
  raw(text: string): void;
  /** Remarks that are no result: standard error. */
  notes(lines: readonly string[]): void;
  /** Empties the screen; nothing when there is none. */
  clear(): void;
}

/** What is needed of a stream. */
export interface Stream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const CLEAR = '\u001b[2J\u001b[3J\u001b[H';

/** A terminal on two streams. Colours only on a screen, and not when NO_COLOR says so. */
export function createTerminal(out: Stream, err: Stream, env: Readonly<Record<string, string | undefined>>): Terminal {
  const mayColor = (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  const write = (stream: Stream, lines: readonly string[]): void => {
    const color = mayColor && stream.isTTY === true;
    stream.write(lines.map((line) => `${toTerminal(line, color)}\n`).join(''));
  };
  return {
    get columns() {
      return out.isTTY === true ? (out.columns ?? 80) : undefined;
    },
    interactive: out.isTTY === true,
    lines: (lines) => write(out, lines),
    json: (value) => void out.write(`${visibleJson(value, 2)}\n`),
    jsonLine: (value) => void out.write(`${visibleJson(value)}\n`),
    raw: (text) => void out.write(text),
    notes: (lines) =>
      write(err, err.isTTY === true ? lines.flatMap((line) => wrap(visible(line), err.columns ?? 80)) : lines),
    clear: () => {
      if (out.isTTY === true) out.write(CLEAR);
    },
  };
}
