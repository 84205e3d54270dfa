import type { WriteStream } from 'node:tty';
import { type BoardState, board, killLine } from './board.js';
import type { Kill } from './killer.js';
import type { Options } from './options.js';
import { openScreen, type Screen } from './screen.js';
import type { Stage } from './stage.js';
import type { Style } from './style.js';
import { tick, tickTitle } from './ticker.js';

/** Where the demo shows what happens: drawn in place on a terminal, a line a second elsewhere, nothing when there is no stream. */
export interface View {
  readonly everyMs: number;
  say(what: string): void;
  onBoard(state: BoardState): void;
  onKill(kill: Kill): void;
  print(lines: readonly string[]): void;
  close(): void;
}

const TITLE_EVERY = 15;

export function openView(stream: WriteStream | undefined, style: Style): View {
  if (stream === undefined) return SILENT;
  return stream.isTTY && process.env['TERM'] !== 'dumb' ? boardView(stream, style) : lineView(stream, style);
}

const SILENT: View = {
  everyMs: 500,
  say: () => undefined,
  onBoard: () => undefined,
  onKill: () => undefined,
  print: () => undefined,
  close: () => undefined,
};

function boardView(stream: WriteStream, style: Style): View {
  const screen: Screen = openScreen(stream);
  const said: string[] = [];
  return {
    everyMs: 200,
    say: (what) => {
      said.push(what);
      screen.draw(['', ` ${style.strong('Cumbre')}`, ...said.map((text) => ` ${style.dim(text)}`)]);
    },
    onBoard: (state) => screen.draw(board(state, style)),
    onKill: () => undefined, // on the board
    print: (lines) => void stream.write(`${lines.join('\n')}\n`),
    close: screen.close,
  };
}

function lineView(stream: WriteStream, style: Style): View {
  const print = (line: string): void => void stream.write(`${line}\n`);
  let ticks = 0;
  return {
    everyMs: 1_000,
    say: print,
    onBoard: (state) => {
      if (ticks % TITLE_EVERY === 0) print(tickTitle());
      ticks += 1;
      print(tick(state));
    },
    onKill: (kill) => print(`       kill -9 ${killLine(kill, style).trim()}`),
    print: (lines) => print(lines.join('\n')),
    close: () => undefined,
  };
}

/** What to do next: with a demo that stays up, where to look. */
export function nextSteps({ database }: Stage, { keep, books }: Options, style: Style): readonly string[] {
  const recount = `node examples/cumbre/recount.mjs ${books ?? '/tmp/books'}`;
  const command = (text: string, what: string): string => `   ${text.padEnd(46)}${style.dim(what)}`;
  const looks = [
    ` ${style.strong('It stays up.')} In another terminal (Ctrl-C here ends it):`,
    '',
    `   export DB=${withoutPassword(database.url)}`,
    '   npx comanda status --database-url $DB',
    '   npx comanda explain refund:ORD-2041 --database-url $DB',
  ];
  const again = [command('npm start -- --keep', 'stays up, to look around')];
  const count = [
    ...(books === undefined ? [command('npm start -- --books /tmp/books', 'keeps the books')] : []),
    command(recount, books === undefined ? 'counts them again' : 'counts the books again'),
  ];
  return ['', ...(keep ? looks : again), ...(keep && books === undefined ? [] : count), ''];
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password !== '') shown.password = 'PASSWORD';
  return shown.toString();
}
