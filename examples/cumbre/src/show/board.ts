import type { Kill } from './killer.js';
import type { KindCounts, Snapshot } from './snapshot.js';
import { number, type Style, seconds } from './style.js';

/** Everything the board shows at one moment. */
export interface BoardState {
  readonly ms: number;
  readonly phase: 'open' | 'draining' | 'over';
  /** How long orders come in. */
  readonly openMs: number;
  readonly snapshot: Snapshot;
  /** Acceptances so far by target, from the books. */
  readonly accepted: Readonly<Record<string, number>>;
  readonly replays: number;
  /** Effects completed in each of the last seconds, oldest first. */
  readonly rates: readonly number[];
  readonly shop: {
    readonly orders: number;
    readonly deliveries: number;
    readonly twice: number;
    readonly atOnce: number;
  };
  readonly parts: readonly { readonly name: string; readonly up: boolean; readonly kills: number }[];
  readonly kills: readonly Kill[];
}

/** Kinds in the order of the board, and where each goes. */
export const KINDS: readonly { readonly kind: string; readonly target: string }[] = [
  { kind: 'issue_refund', target: 'payments' },
  { kind: 'inventory_sync', target: 'warehouse' },
  { kind: 'crm_note', target: 'crm' },
  { kind: 'refund_mail', target: 'mail' },
];

const COLUMNS = ['pending', 'sending', 'unknown', 'failed', 'completed'] as const;
const WIDTHS = { pending: 10, sending: 10, unknown: 10, failed: 9, completed: 12 } as const;
const WIDTH = 78;
const NAME = 16;
const BAR = '▁▂▃▄▅▆▇█';

/** The board as lines of at most 78 columns. */
export function board(state: BoardState, style: Style, kills = 6): readonly string[] {
  const { snapshot } = state;
  const rule = style.dim((style.unicode ? '─' : '-').repeat(WIDTH - 2));
  const row = (name: string, counts: Omit<KindCounts, 'kind'>, accepted: number): string =>
    `${name.padEnd(NAME)}${COLUMNS.map((column) => cell(column, counts[column], style)).join('')}${pad(number(accepted), 9)}`;
  const counts = KINDS.map(({ kind }) => snapshot.kinds.find((found) => found.kind === kind) ?? { kind, ...NONE });
  const all = counts.reduce((sum, one) => plus(sum, one), NONE);
  const acceptedOf = (target: string): number => state.accepted[target] ?? 0;
  const head = COLUMNS.map((column) => pad(column, WIDTHS[column])).join('');
  return [
    '',
    between(style.strong('Cumbre'), phase(state), style),
    rule,
    style.dim(`${' '.repeat(NAME)}${head}${pad('accepted', 9)}`),
    ...KINDS.map(({ kind, target }, i) => row(kind, counts[i] ?? NONE, acceptedOf(target))),
    rule,
    style.strong(
      row(
        'all',
        all,
        KINDS.reduce((sum, { target }) => sum + acceptedOf(target), 0),
      ),
    ),
    '',
    `${fact('oldest', seconds(snapshot.oldestMs), style)}   ${fact('rate', `${rate(state)}/s`.padStart(6), style)} ${style.dim(bars(state.rates, style))}`,
    `${fact('orders', number(state.shop.orders), style)}  ${style.dim('sent twice')} ${number(state.shop.twice)}  ${style.dim('same moment')} ${number(state.shop.atOnce)}  ${style.dim('decisions')} ${number(snapshot.decisions)}`,
    state.parts
      .map(
        ({ name, up }) =>
          `${up ? style.good(style.unicode ? '●' : '+') : style.bad(style.unicode ? '○' : 'x')} ${name}`,
      )
      .join('   '),
    '',
    `${fact('kill -9', number(state.kills.flatMap(({ victims }) => victims).length), style)}   ${style.dim('repeated calls recognised by their key')} ${number(state.replays)}`,
    ...newest(state.kills, kills).map((kill) => (kill === undefined ? '' : killLine(kill, style))),
  ].map((line) => (line === '' ? '' : ` ${line}`));
}

/** One kill in a line. */
export function killLine(kill: Kill, style: Style): string {
  return `${style.dim(`${(kill.at / 1_000).toFixed(1).padStart(5)} s`)}  ${style.bad((kill.victims.length > 1 ? 'both relays' : `${kill.victims[0]}`).padEnd(12))}  ${why(kill)}`;
}

function why({ when, target, key }: Kill): string {
  if (when === 'accepted') return `${target} just accepted ${key}`;
  return when === 'deciding' ? 'with an order in its hands' : 'at a random moment';
}

const NONE = { pending: 0, sending: 0, unknown: 0, failed: 0, completed: 0 };

function plus(a: typeof NONE, b: typeof NONE): typeof NONE {
  return {
    pending: a.pending + b.pending,
    sending: a.sending + b.sending,
    unknown: a.unknown + b.unknown,
    failed: a.failed + b.failed,
    completed: a.completed + b.completed,
  };
}

function cell(column: (typeof COLUMNS)[number], n: number, style: Style): string {
  if (n === 0) return style.dim(pad(style.unicode ? '·' : '.', WIDTHS[column]));
  const text = pad(number(n), WIDTHS[column]);
  if (column === 'unknown') return style.warn(text);
  return column === 'failed' ? style.bad(text) : text;
}

function phase({ phase: now, ms, openMs }: BoardState): string {
  if (now === 'over') return 'nothing is left to do';
  if (now === 'draining') return `${Math.round(ms / 1_000)} s   no more orders; the rest is being done`;
  return `${Math.round(ms / 1_000)} s   orders come in for ${Math.round(openMs / 1_000)} s`;
}

/** Effects completed per second, over the last two seconds. */
function rate({ rates }: BoardState): number {
  const last = rates.slice(-2);
  return Math.round(last.reduce((sum, n) => sum + n, 0) / Math.max(last.length, 1));
}

function bars(rates: readonly number[], style: Style): string {
  if (!style.unicode) return '';
  const most = Math.max(1, ...rates);
  return rates
    .slice(-45)
    .map((n) => BAR[Math.min(BAR.length - 1, Math.round((n / most) * (BAR.length - 1)))])
    .join('');
}

/** The newest first, and always so many, so that the board does not jump. */
function newest(kills: readonly Kill[], count: number): readonly (Kill | undefined)[] {
  return Array.from({ length: count }, (_, i) => kills.at(-1 - i));
}

function fact(name: string, value: string, style: Style): string {
  return `${style.dim(name)} ${style.strong(value)}`;
}

function between(left: string, right: string, style: Style): string {
  const visible = (text: string): number => [...text.replaceAll(/\u001b\[\d+m/g, '')].length;
  return `${left}${' '.repeat(Math.max(1, WIDTH - 2 - visible(left) - visible(right)))}${style.dim(right)}`;
}

function pad(text: string, width: number): string {
  return text.padStart(width);
}
