import { KINDS } from './board.js';
import type { Kill } from './killer.js';
import type { Result } from './result.js';
import { number, plural, type Style, wrap } from './style.js';

const WIDTH = 76;

/** What the kills meant, the reckoning and the verdict, for people. At most 78 columns. */
export function report(result: Result, kills: readonly Kill[], style: Style): readonly string[] {
  const parts = [meaning(result, kills, style), reckoning(result, style), verdict(result, style)];
  return parts.flatMap((lines) => ['', ...lines]).map((line) => (line === '' ? '' : ` ${line}`));
}

/** What the kills would have done to the two orders in which a program without an outbox can write. */
function meaning(result: Result, kills: readonly Kill[], style: Style): readonly string[] {
  const sum = (of: (kill: Kill) => number): number => kills.reduce((total, kill) => total + of(kill), 0);
  const relays = sum(({ victims }) => victims.filter((name) => name.startsWith('relay')).length);
  const triage = sum(({ victims }) => victims.length) - relays;
  const accepted = sum((kill) => kill.accepted.length);
  const waiting = sum((kill) => kill.notAccepted.length);
  const naive = (n: number, what: string, then: string): readonly string[] => [
    `${style.bad(number(n).padStart(6))}  ${what}`,
    `        ${style.dim(then)}`,
  ];
  return [
    style.strong('What was killed'),
    ...wrap(
      `A relay ${times(relays)} and order-triage ${times(triage)}, with kill -9. At those moments the relays had taken on ${plural(accepted + waiting, 'effect')} and not written down what became of them. To a program that writes and calls one after the other it would have meant:`,
      WIDTH,
    ),
    ...naive(accepted, 'were accepted already', 'call first, then write: done a second time'),
    ...naive(waiting, 'were not accepted yet', 'write first, then call: never done'),
    ...(result.balanced ? wrap(instead(result), WIDTH) : []),
  ];
}

function instead({ replays, unknown, foundApplied }: Result): string {
  return `Here each was decided in the same transaction as its order, so the next relay took it over. ${plural(replays, 'call')} came again and were recognised by their key. The mail server knows no keys: ${plural(unknown, 'mail')} became unknown and were looked up before anything else. ${number(foundApplied)} had been sent; the others were sent then.`;
}

function reckoning(result: Result, style: Style): readonly string[] {
  const { dim, strong } = style;
  const rule = dim((style.unicode ? '─' : '-').repeat(WIDTH));
  const row = (name: string, numbers: readonly (number | string)[], note = ''): string =>
    `${name.padEnd(14)}${numbers.map((n) => (typeof n === 'number' ? number(n) : n).padStart(10)).join('')}${note === '' ? '' : dim(`   ${note}`)}`;
  return [
    strong("The reckoning, counted from the providers' own books"),
    rule,
    dim(row('', ['calls', 'accepted', 'repeated'])),
    ...KINDS.map(({ target }) => {
      const { calls, acceptances, replays } = result.byTarget[target] ?? { calls: 0, acceptances: 0, replays: 0 };
      return row(target, [calls, acceptances, replays], target === 'mail' ? 'knows no keys' : '');
    }),
    row('all', [result.calls, result.acceptances, result.replays], 'repeated: nothing was done'),
    rule,
    [
      fact('orders', result.orders, style),
      fact('decisions', result.decisions, style),
      fact('effects', result.effects, style),
      fact('kill -9', result.kills, style),
    ].join('   '),
    [
      zero('lost', result.lost, style),
      zero('duplicated', result.duplicated, style),
      zero('not decided', result.ghosts, style),
      zero('out of order', result.overtaken, style),
      zero('unattended', result.unattended, style),
    ].join('   '),
    `${fact('unknown', result.unknown, style)}   ${fact('reconciled', result.reconciled, style)}   ${dim(`seed ${result.seed}`)}`,
  ];
}

function verdict({ balanced, problems, completed }: Result, style: Style): readonly string[] {
  if (balanced)
    return [
      style.good(style.strong(`It balances: ${number(completed)} effects were decided, and each happened once.`)),
    ];
  return [style.bad(style.strong('It does not balance:')), ...problems.map((problem) => `  ${style.bad(problem)}`)];
}

function times(n: number): string {
  return n === 1 ? 'once' : `${number(n)} times`;
}

function fact(name: string, n: number, style: Style): string {
  return `${style.dim(name)} ${style.strong(number(n))}`;
}

function zero(name: string, n: number, style: Style): string {
  return `${style.dim(name)} ${n === 0 ? style.good(style.strong('0')) : style.bad(style.strong(number(n)))}`;
}
