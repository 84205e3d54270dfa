import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyCarrier } from '../../ports/idempotency.js';
import type { Book, OpenEntry } from './book.js';
import type { Holder } from './holder.js';
import { actId, findActs } from './look-up.js';
import type { Answer, Fault, FaultAnswer, ProviderDoubleOptions, ReceivedRequest } from './types.js';

/** More than the buffers of a connection hold, and than any client should read of an answer that does not end. */
const ENDLESS_BYTES = 16 * 1_024 * 1_024;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** What a request is answered from. */
export interface Desk {
  readonly book: Book;
  readonly holder: Holder;
  readonly options: ProviderDoubleOptions;
}

/** Writes a request into the book, and answers it, or does what was to go wrong. */
export function serve(desk: Desk, message: IncomingMessage, body: string, response: ServerResponse): void {
  // Less than was announced: nothing that a provider would act on.
  if (!message.complete) return;
  const { book, holder } = desk;
  const request = received(desk, message, body);
  const fault = holder.faultOf(request);
  const entry = book.enter(request, fault);
  const answer = (): Answer => decide(desk, entry);
  if (fault === undefined) send(response, entry, answer());
  else if (typeof fault === 'object') {
    if (fault.accepts === true) answer();
    send(response, entry, told(fault));
  } else misbehave(holder, fault, answer, entry, response);
}

function received({ book, options }: Desk, message: IncomingMessage, body: string): ReceivedRequest {
  const { method = 'GET', url: path = '/' } = message;
  const headers = Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : `${value}`,
    ]),
  );
  const act = options.isAct?.({ method, path, headers, body }) ?? !READS.has(method);
  const carrier = book.repetition?.key?.carrier ?? { header: 'Idempotency-Key' };
  return { what: act ? 'act' : 'look-up', method, path, headers, body, key: keyAt(carrier, headers, body) };
}

/** What the provider does about a request when nothing hinders it. */
function decide({ book, options }: Desk, entry: OpenEntry): Answer {
  if (entry.what === 'look-up') {
    const accepted = book.entries.filter(({ verdict }) => verdict === 'accepted');
    const answer = (options.lookUp ?? findActs)(entry, accepted);
    entry.verdict = (answer.status ?? 200) < 300 ? 'found' : 'not-found';
    return answer;
  }
  const judgement = book.judge(entry);
  if (judgement.verdict === 'rejected')
    return { status: judgement.status, body: JSON.stringify({ error: judgement.why }) };
  // A provider that stores whatever it said, says it again.
  const stored = judgement.first.fault;
  const repeats = judgement.verdict === 'replayed' && book.repetition?.key?.replays === 'any-status';
  if (repeats && typeof stored === 'object') return { status: stored.status, body: bodyOf(stored) };
  return options.answer?.(judgement.first) ?? { body: JSON.stringify({ id: actId(judgement.first) }) };
}

function told({ status, headers = {}, ...fault }: FaultAnswer): Answer {
  return { status, headers, body: bodyOf({ status, ...fault }) };
}

function bodyOf({ status, body }: FaultAnswer): string {
  return body ?? JSON.stringify({ error: `status ${status}` });
}

function misbehave(
  holder: Holder,
  fault: Exclude<Fault, FaultAnswer>,
  answer: () => Answer,
  entry: OpenEntry,
  response: ServerResponse,
): void {
  const reset = (): void => void response.socket?.resetAndDestroy();
  if (fault === 'silent-before') holder.hold(() => send(response, entry, answer()));
  else if (fault === 'reset-before') reset();
  else {
    const given = answer();
    if (fault === 'reset-after') reset();
    else if (fault === 'silent-after') holder.hold(() => send(response, entry, given));
    else unreadable(fault, given, entry, response);
  }
}

function unreadable(fault: 'malformed' | 'endless', given: Answer, entry: OpenEntry, response: ServerResponse): void {
  entry.status = given.status ?? 200;
  response.writeHead(entry.status, { 'content-type': 'application/json', connection: 'close' });
  if (fault === 'malformed') response.end((given.body ?? '{"id":"act_0"}').slice(0, 5));
  else endless(response, entry);
}

function endless(response: ServerResponse, entry: OpenEntry): void {
  const chunk = '{"id":"act_0"},'.repeat(4_096);
  let left = ENDLESS_BYTES;
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= chunk.length;
      if (!response.write(chunk)) return;
    }
    // Whoever read all of this would have read on.
    if (left <= 0 && !response.destroyed) {
      entry.readWithoutEnd = true;
      response.destroy();
    }
  };
  response.on('drain', more);
  more();
}

function send(response: ServerResponse, entry: OpenEntry, answer: Answer): void {
  entry.status = answer.status ?? 200;
  // One connection per request: a refused or broken one is then never a left-over of the request before.
  response.writeHead(entry.status, { 'content-type': 'application/json', ...answer.headers, connection: 'close' });
  response.end(answer.body ?? '{}');
}

function keyAt(carrier: KeyCarrier, headers: Readonly<Record<string, string>>, body: string): string | undefined {
  if ('header' in carrier) return headers[carrier.header.toLowerCase()];
  try {
    const steps = carrier.body.split('/').slice(1);
    const value = steps.reduce<unknown>(
      (inner, step) => (inner as Record<string, unknown> | undefined)?.[step.replace(/~1/g, '/').replace(/~0/g, '~')],
      JSON.parse(body),
    );
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
