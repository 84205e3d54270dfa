/*
 * A mail service, as a process of its own, that knows nothing of idempotency: each accepted `POST /messages` is one more
 * mail. The body is JSON with `to`, and `reference` for the look-up `GET /messages?reference=X`: 200 with all mails of that
 * reference, or 404.
 */
import type { BookEntry } from './book.js';
import { failure } from './http.js';
import { type Provider, runProvider } from './run.js';

interface Message {
  readonly to?: unknown;
  readonly reference?: unknown;
}

function createMail(history: readonly BookEntry[]): Provider {
  const sent = new Map<string, string[]>();
  let accepted = 0;
  const remember = (body: string, id: string) => {
    const { reference } = parse(body) ?? {};
    if (typeof reference !== 'string') return;
    sent.set(reference, [...(sent.get(reference) ?? []), id]);
  };
  for (const { event, body, id = '' } of history) {
    if (event !== 'accepted') continue;
    accepted += 1;
    remember(body, id);
  }

  return {
    lookUp({ query }) {
      const reference = query.get('reference') ?? '';
      const ids = sent.get(reference);
      return ids
        ? { status: 200, body: { found: true, reference, messages: ids.map((id) => ({ id })) } }
        : { status: 404, body: { found: false, reference } };
    },
    check(request) {
      const message = parse(request.body);
      if (typeof message?.to === 'string' && message.to.includes('@')) return undefined;
      request.note({ event: 'rejected', status: 400, reason: 'recipient' });
      return failure(400, 'recipient', 'The body is not JSON, or "to" is no address.');
    },
    accept(request) {
      accepted += 1;
      const id = `msg_${accepted}`;
      request.note({ event: 'accepted', status: 202, id });
      remember(request.body, id);
      return { status: 202, body: { id, status: 'queued' } };
    },
    hold: () => () => {},
  };
}

function parse(body: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

runProvider(createMail);
