/*
 * A payment gateway, as a process of its own, that honours `Idempotency-Key` the way the well-known ones do:
 *   same key, same request        the stored answer, header `Idempotent-Replayed: true`
 *   same key, other path or body  422
 *   same key, first still running 409
 *   no key                        a new payment each time
 * `GET /<path>?key=K` tells whether a request with that key was accepted: 200 with its answer, or 404.
 * With `--forgetful` it forgets a key two seconds after its first use; look-ups still find what was accepted.
 * With `--fencing` a request or look-up whose fence is lower than one seen for the same lane (or key) gets 412.
 */
import type { BookEntry } from './book.js';
import { type Answer, failure, type ProviderRequest } from './http.js';
import { type Provider, runProvider } from './run.js';

const FORGETS_AFTER_MS = 2_000;

interface Stored {
  readonly at: number;
  readonly path: string;
  readonly body: string;
  readonly id: string;
}

function createGateway(history: readonly BookEntry[], flags: ReadonlySet<string>): Provider {
  const stored = new Map<string, Stored>();
  const running = new Map<string, Pick<Stored, 'path' | 'body'>>();
  const fences = new Map<string, bigint>();
  let accepted = 0;
  for (const { event, key, path, body, id = '' } of history) {
    if (event !== 'accepted') continue;
    accepted += 1;
    if (key !== null) stored.set(key, { at: performance.now(), path, body, id });
  }

  const lowerFence = (lane: string | null, fence: string | null): boolean => {
    if (!flags.has('fencing') || lane === null || fence === null || !/^\d+$/.test(fence)) return false;
    const highest = fences.get(lane) ?? 0n;
    if (BigInt(fence) < highest) return true;
    fences.set(lane, BigInt(fence));
    return false;
  };

  const recalled = (key: string): Stored | undefined => {
    const known = stored.get(key);
    return known && flags.has('forgetful') && performance.now() - known.at > FORGETS_AFTER_MS ? undefined : known;
  };

  return {
    lookUp({ query, lane, fence }) {
      const key = query.get('key') ?? '';
      if (lowerFence(lane ?? key, fence)) return fenced();
      const known = stored.get(key);
      return known
        ? { status: 200, body: { found: true, key, ...result(known) } }
        : { status: 404, body: { found: false, key } };
    },
    check(request) {
      const { key, lane, fence } = request;
      if (lowerFence(lane ?? key, fence)) {
        request.note({ event: 'rejected', status: 412, reason: 'fence' });
        return fenced();
      }
      if (key === null) return undefined;
      const remembered = recalled(key);
      const before = running.get(key) ?? remembered;
      if (before && !same(before, request)) {
        request.note({ event: 'refused', status: 422 });
        return failure(422, 'idempotency_key_reused', 'This key was used for another request.');
      }
      if (running.has(key)) {
        request.note({ event: 'in_progress', status: 409 });
        return failure(409, 'idempotency_key_in_use', 'The first request with this key is still running.');
      }
      const known = remembered;
      if (!known) return undefined;
      request.note({ event: 'replayed', status: 200, id: known.id });
      return { status: 200, body: result(known), headers: { 'idempotent-replayed': 'true' } };
    },
    accept(request) {
      accepted += 1;
      const made: Stored = {
        at: performance.now(),
        path: request.path,
        body: request.body,
        id: `${objectOf(request).replace(/s$/, '')}_${accepted}`,
      };
      request.note({ event: 'accepted', status: 200, id: made.id });
      if (request.key !== null) stored.set(request.key, made);
      return { status: 200, body: result(made) };
    },
    hold(request) {
      const { key } = request;
      if (key === null) return () => {};
      running.set(key, request);
      return () => void running.delete(key);
    },
  };
}

function same(a: Pick<Stored, 'path' | 'body'>, b: Pick<ProviderRequest, 'path' | 'body'>): boolean {
  return a.path === b.path && a.body === b.body;
}

function result(made: Stored): Readonly<Record<string, string>> {
  return { id: made.id, object: objectOf(made), status: 'succeeded' };
}

/** `refunds` of `/refunds`. */
function objectOf({ path }: Pick<Stored, 'path'>): string {
  return path.split('/').at(-1) ?? '';
}

function fenced(): Answer {
  return failure(412, 'fence', 'A higher fence was seen.');
}

runProvider(createGateway, ['fencing', 'forgetful']);
