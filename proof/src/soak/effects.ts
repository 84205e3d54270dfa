import type { EffectDefinition } from 'comanda';
import { httpEffect } from 'comanda/transports/http';

/** Base URLs of the providers, without a slash at the end. */
export interface ProviderUrls {
  /** Honours keys. */
  readonly payments: string;
  /** Honours keys where they are sent; a PUT is natural. */
  readonly warehouse: string;
  /** Knows no keys; can be asked. */
  readonly mail: string;
  /** Knows no keys; only a person can ask. */
  readonly post: string;
}

export const LEASE_MS = 3_000;
export const TIMEOUT_MS = 1_000;
/** The longest that a provider takes to accept what it has read: longer than anybody waits for it. */
export const SLOWEST_MS = 1_200;

/** One kind for each way in which a target can, or cannot, recognise a repetition. */
export function soakEffects(at: ProviderUrls, client: string): readonly EffectDefinition<never>[] {
  const headers = { 'user-agent': client };
  const common = {
    timeout: TIMEOUT_MS,
    retry: { maxAttempts: 50, baseDelay: 100, maxDelay: 1_000 },
    allowPrivateAddresses: ['127.0.0.1'],
    providerId: '/id',
  } as const;
  return [
    httpEffect({
      ...common,
      kind: 'refund',
      target: 'payments',
      risk: 'irreversible',
      idempotency: 'key',
      request: { url: `${at.payments}/refunds`, headers },
    }),
    httpEffect({
      ...common,
      kind: 'movement',
      target: 'warehouse',
      risk: 'reversible',
      idempotency: 'key',
      request: { url: `${at.warehouse}/movements`, headers },
    }),
    httpEffect({
      ...common,
      kind: 'shelf',
      target: 'shelves',
      risk: 'reversible',
      idempotency: 'natural',
      request: ({ input }) => ({ url: `${at.warehouse}/shelves/${laneOf(input)}`, method: 'PUT', headers }),
    }),
    httpEffect({
      ...common,
      kind: 'mail',
      target: 'mail',
      risk: 'irreversible',
      idempotency: 'none',
      request: { url: `${at.mail}/messages`, headers },
      reconcile: {
        request: ({ idempotencyKey }) => ({
          url: `${at.mail}/messages?reference=${encodeURIComponent(idempotencyKey)}`,
          headers,
        }),
      },
    }),
    httpEffect({
      ...common,
      kind: 'letter',
      target: 'post',
      risk: 'irreversible',
      idempotency: 'none',
      onUnknown: 'ask-human',
      request: { url: `${at.post}/messages`, headers },
    }),
  ];
}

function laneOf(input: unknown): string {
  return encodeURIComponent(String((input as { readonly lane?: unknown }).lane));
}
