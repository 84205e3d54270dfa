import { duration, quoted, shortRelay } from './phrases.js';
import type { EffectFile } from './read.js';
import type { AttemptRow, EffectRow, OutcomeRow, RequestRow } from './rows.js';

/** One thing that happened. */
export interface StoryEvent {
  readonly at: string;
  readonly text: string;
}

/** What happened to an effect, in the order in which it was written down: tries, look-ups, late answers, what people asked for, endings. */
export function eventsOf(effect: EffectRow, file: EffectFile): readonly StoryEvent[] {
  const own = <Row extends { readonly effect_id: string }>(rows: readonly Row[]): readonly Row[] =>
    rows.filter((row) => row.effect_id === effect.effect_id);
  const attempts = own(file.attempts);
  const requests = own(file.requests);
  const outcomes = own(file.outcomes);
  return [
    ...attempts.flatMap((row) => attemptEvent(row, { effect, attempts, requests })),
    ...requests.flatMap(requestEvents),
    // An ending under the fence of an attempt is told by that attempt already.
    ...outcomes.filter((row) => !attempts.some((a) => a.phase !== 'start' && a.fence === row.fence)).map(outcomeEvent),
  ].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

interface Surroundings {
  readonly effect: EffectRow;
  readonly attempts: readonly AttemptRow[];
  readonly requests: readonly RequestRow[];
}

function attemptEvent(row: AttemptRow, around: Surroundings): readonly StoryEvent[] {
  const text = { start: startText, end: endText, late: lateText, look: lookText }[row.phase](row, around);
  return text === undefined ? [] : [{ at: row.at, text }];
}

/** A start that has its end says nothing new. */
function startText(row: AttemptRow, { effect, attempts }: Surroundings): string | undefined {
  if (attempts.some((other) => other.phase === 'end' && other.fence === row.fence)) return undefined;
  const sent = `attempt ${row.attempt} was started${row.owner === null ? '' : ` by ${shortRelay(row.owner)}`}`;
  return effect.state === 'sending' && effect.fence === row.fence
    ? `${sent} and is under way`
    : `${sent} and never ended here: it may have reached the provider`;
}

function endText(row: AttemptRow): string {
  const took = row.duration_ms === null ? '' : ` in ${duration(row.duration_ms)}`;
  const said = provider(row);
  switch (row.outcome) {
    case 'completed':
      return `attempt ${row.attempt} completed${took}${said}`;
    case 'failed':
      return `attempt ${row.attempt} failed for good${took}${said}`;
    case 'unknown':
      return `attempt ${row.attempt} ended without a known outcome${took}${said}; it may have happened`;
    case 'cancelled':
      return 'cancelled before it was sent';
    default:
      return `attempt ${row.attempt} ended without a confirmed success${took}${said}`;
  }
}

function lateText(row: AttemptRow): string {
  const who = row.owner === null ? 'a relay' : shortRelay(row.owner);
  return `${who}, which had lost its lease, reported attempt ${row.attempt} as ${row.outcome ?? 'ended'}${provider(row)}; kept as evidence`;
}

function lookText(row: AttemptRow, { requests }: Surroundings): string {
  const person = requests.find((request) => request.action === 'resolve' && request.requested_by === row.owner);
  if (person !== undefined) return `${row.owner} said that it was not applied${because(row.error_text)}`;
  switch (row.outcome) {
    case 'applied':
      return `looked it up at the provider: it had happened${provider(row)}`;
    case 'absent':
      return `looked it up at the provider: it had not happened${provider(row)}`;
    default:
      return `looked it up at the provider, which could not tell${provider(row)}`;
  }
}

/** What the provider said: `: status 503, http_503, "busy"; the provider calls it re_1`. */
function provider(row: AttemptRow): string {
  const parts = [
    row.status === null ? undefined : `status ${row.status}`,
    row.error_class === null || row.error_class === `http_${row.status}` ? undefined : row.error_class,
    row.error_text === null || row.error_text === '' ? undefined : quoted(row.error_text),
  ].filter((part) => part !== undefined);
  const said = parts.length === 0 ? '' : `: ${parts.join(', ')}`;
  return row.provider_id === null ? said : `${said}; the provider calls it ${row.provider_id}`;
}

function requestEvents(row: RequestRow): readonly StoryEvent[] {
  const what = {
    cancel: 'cancel it',
    skip: 'skip it, so that what is behind it goes on',
    release: 'release it',
    redrive: 'try it again',
    resolve: `settle it as ${row.resolve_as ?? '?'}${row.provider_id === null ? '' : ` (the provider calls it ${row.provider_id})`}`,
  }[row.action];
  const asked = {
    at: row.requested_at,
    text: `${row.requested_by ?? 'somebody'} asked to ${what}${because(row.reason)}`,
  };
  if (row.answered_at === null || row.answer === null) {
    return [{ ...asked, text: `${asked.text}; not answered yet` }];
  }
  return [asked, { at: row.answered_at, text: `the answer to "${row.action}": ${row.answer}` }];
}

function outcomeEvent(row: OutcomeRow): StoryEvent {
  const id = row.provider_id === null ? '' : `; the provider calls it ${row.provider_id}`;
  const maybe = row.maybe_applied ? '; it may have been applied' : '';
  return {
    at: row.settled_at,
    text: `ended as ${row.state} by ${shortRelay(row.settled_by)}${because(row.reason)}${id}${maybe}`,
  };
}

function because(reason: string | null): string {
  return reason === null || reason === '' ? '' : `: ${quoted(reason)}`;
}
