import type { BookEntry } from '../provider/types.js';
import type { Life } from './life.js';
import type { CheckName, Found } from './report.js';
import type { Stage } from './scenario.js';
import type { Call } from './witness.js';

/** How the handler behaves towards its relay and its provider. */
export function manners({ provider }: Pick<Stage, 'provider'>, life: Life): readonly Found[] {
  const found: Found[] = [];
  const say = (check: CheckName, message: string): void => void found.push([check, message]);
  const [dawdler] = life.dawdled;
  // What it waits for then is the end of an answer.
  const reading = provider.book.some(({ fault }) => fault === 'endless');
  if (dawdler !== undefined && !reading)
    say(
      'too-slow',
      `${dawdler.of} was still running, with nothing left to wait for at the provider, and used up its timeout; leave waiting and retrying to the relay`,
    );
  const [deaf] = life.ignoredSignal;
  if (deaf !== undefined && deaf !== dawdler)
    say(
      'ignored-signal',
      `${deaf.of} went on after its signal had fired; pass context.signal to everything that waits, e.g. fetch(url, { signal: context.signal })`,
    );
  return found;
}

/** Acts that a handler sent after it had been told to stop. */
export function sentAfterSignal(calls: readonly Call[], book: readonly BookEntry[]): Found | undefined {
  for (const call of calls) {
    if (call.dead || call.stoppedAt === undefined || call.of !== 'perform') continue;
    const late = book.slice(call.stoppedAt, call.to ?? call.stoppedAt).find(({ what }) => what === 'act');
    if (late !== undefined)
      return [
        'sent-after-signal',
        `the handler sent ${late.method} ${late.path} after its signal had fired; somebody else may be doing the same: pass context.signal to the client, and look at it before each request`,
      ];
  }
  return undefined;
}

/** An answer that was read beyond any bound, or for ever. */
export function readWithoutEnd(book: readonly BookEntry[], lives: readonly Life[]): Found | undefined {
  const endless = book.filter(({ fault }) => fault === 'endless');
  const read =
    endless.some((entry) => entry.readWithoutEnd === true) || lives.some(({ dawdled }) => dawdled.length > 0);
  return endless.length > 0 && read
    ? [
        'unbounded-answer',
        'the handler reads an answer that does not end, beyond 16 MiB or until its timeout; read answers up to a limit, and give the connection up',
      ]
    : undefined;
}
