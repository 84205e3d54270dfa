import {
  absent,
  applied,
  cannotTell,
  completed,
  defineEffect,
  type EffectDefinition,
  type EffectSpec,
  failed,
  notSent,
  type Outcome,
  type PerformContext,
  type ReconcileResult,
  retry,
  unknown,
} from '../../src/index.js';

export interface Refund {
  readonly order: string;
  readonly amount: number;
}

export const REFUND: Refund = { order: 'ORD-2041', amount: 2154 };

/** A request as a careful handler makes it. */
export function refundRequest(context: PerformContext): RequestInit {
  const headers = { 'idempotency-key': encodeURIComponent(context.idempotencyKey) };
  return { method: 'POST', headers, body: context.payloadText, signal: context.signal };
}

/** What a careful handler makes of an answer, or of its absence. */
export async function careful(url: string, request: RequestInit, keyed: boolean): Promise<Outcome> {
  const uncertain = (errorText: string): Outcome => (keyed ? retry({ errorText }) : unknown({ errorText }));
  let response: Response;
  try {
    response = await fetch(url, request);
  } catch (error) {
    const cause = error instanceof Error ? (error.cause as { code?: string } | undefined) : undefined;
    if (cause?.code === 'ECONNREFUSED') throw notSent(error);
    return uncertain(String(error));
  }
  await response.body?.cancel();
  const { status } = response;
  const patience = response.headers.get('retry-after');
  if (patience !== null && (status === 429 || status === 503))
    return retry({ notSent: true, burnsAttempt: false, afterMs: Number(patience) * 1_000 });
  if (response.ok) return completed();
  return status >= 500 || status === 409 ? uncertain(`status ${status}`) : failed({ errorText: `status ${status}` });
}

/** Looks an act up by the effect's key. */
export async function lookUp(url: string, context: PerformContext): Promise<ReconcileResult> {
  const response = await fetch(`${url}?reference=${encodeURIComponent(context.idempotencyKey)}`, {
    signal: context.signal,
  });
  await response.body?.cancel();
  if (response.ok) return applied();
  return response.status === 404 ? absent() : cannotTell({ status: response.status });
}

type Change = Partial<EffectSpec<Refund, Refund>>;

/** A good handler for a provider with keys. */
export function keyed(url: string, change: Change = {}): EffectDefinition<Refund> {
  return defineEffect<Refund>({
    kind: 'issue_refund',
    idempotency: 'key',
    perform: (_input, context) => careful(`${url}/refunds`, refundRequest(context), true),
    ...change,
  });
}

/** A good handler for a provider that recognises nothing; the key travels in the body. */
export function unkeyed(url: string, change: Change = {}): EffectDefinition<Refund> {
  return defineEffect<Refund>({
    kind: 'issue_refund',
    idempotency: 'none',
    perform: (input, context) => {
      const body = JSON.stringify({ ...input, reference: context.idempotencyKey });
      return careful(`${url}/refunds`, { method: 'POST', body, signal: context.signal }, false);
    },
    reconcile: (_input, context) => lookUp(`${url}/refunds`, context),
    ...change,
  });
}

/** A good handler for a provider to which the same state twice is the same as once. */
export function natural(url: string, change: Change = {}): EffectDefinition<Refund> {
  return defineEffect<Refund>({
    kind: 'put_profile',
    idempotency: 'natural',
    perform: (input, context) =>
      careful(
        `${url}/orders/${input.order}`,
        { method: 'PUT', body: context.payloadText, signal: context.signal },
        true,
      ),
    ...change,
  });
}
