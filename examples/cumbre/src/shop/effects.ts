import type { EffectDefinition } from 'comanda';
import { httpEffect } from 'comanda/transports/http';

/** Where the shop's providers are: base URLs without a slash at the end. */
export interface Providers {
  readonly payments: string;
  readonly warehouse: string;
  readonly crm: string;
  readonly mail: string;
}

/** What the shop has done elsewhere, and what each target guarantees. This list is all a relay needs. */
export function cumbreEffects(at: Providers, client: string): readonly EffectDefinition<never>[] {
  const headers = { 'user-agent': client };
  const common = {
    // Short, so that a take-over can be watched. In production the defaults are 20 s and 8 attempts.
    timeout: '1s',
    retry: { maxAttempts: 50, baseDelay: '100ms', maxDelay: '1s' },
    allowPrivateAddresses: ['127.0.0.1'],
    providerId: '/id',
  } as const;
  return [
    // The payment gateway recognises a key that it has seen: repeating a refund is safe.
    httpEffect({
      ...common,
      kind: 'issue_refund',
      target: 'payments',
      risk: 'irreversible',
      idempotency: 'key',
      request: { url: `${at.payments}/refunds`, headers },
    }),
    httpEffect({
      ...common,
      kind: 'inventory_sync',
      target: 'warehouse',
      risk: 'reversible',
      idempotency: 'key',
      request: { url: `${at.warehouse}/movements`, headers },
    }),
    httpEffect({
      ...common,
      kind: 'crm_note',
      target: 'crm',
      risk: 'reversible',
      idempotency: 'key',
      request: { url: `${at.crm}/notes`, headers },
    }),
    // The mail server sends once more whatever it gets. An uncertain mail is looked up by its reference before anything else.
    httpEffect({
      ...common,
      kind: 'refund_mail',
      target: 'mail',
      risk: 'irreversible',
      idempotency: 'none',
      request: { url: `${at.mail}/messages`, headers },
      reconcile: {
        request: ({ idempotencyKey }) => ({
          url: `${at.mail}/messages?reference=${encodeURIComponent(idempotencyKey)}`,
          headers,
        }),
        read: ({ status, json }) => {
          if (status === 404) return 'absent';
          return status === 200 ? { found: 'applied', ...firstMessage(json()) } : 'cannotTell';
        },
      },
    }),
  ];
}

function firstMessage(answer: unknown): { readonly providerId?: string } {
  const { messages } = answer as { readonly messages?: readonly { readonly id: string }[] };
  const id = messages?.[0]?.id;
  return id === undefined ? {} : { providerId: id };
}
