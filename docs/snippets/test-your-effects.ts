import { randomUUID } from 'node:crypto';
import { completed, defineEffect, failed, retry } from 'comanda';
import { createProviderDouble, type EffectReport, exerciseEffect } from 'comanda/testing';
import { httpEffect } from 'comanda/transports/http';

interface Refund {
  readonly order: string;
  readonly amount: string;
}

// #region naive
export const naiveRefund = (payments: string) =>
  defineEffect<Refund>({
    kind: 'issue_refund',
    idempotency: 'key',
    async perform(refund) {
      try {
        await fetch(`${payments}/refunds`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
          body: JSON.stringify(refund),
        });
      } catch {
        // Payments are down now and then.
      }
      return completed();
    },
  });
// #endregion

// #region repaired
export const refund = (payments: string) =>
  defineEffect<Refund>({
    kind: 'issue_refund',
    idempotency: 'key',
    async perform(_refund, { idempotencyKey, payloadText, signal }) {
      // A throw is a retry: the provider recognises the key.
      const response = await fetch(`${payments}/refunds`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': encodeURIComponent(idempotencyKey) },
        body: payloadText,
        signal,
      });
      await response.body?.cancel();
      const { ok, status, headers } = response;
      const afterMs = Number(headers.get('retry-after') ?? 0) * 1_000;
      if (ok) return completed();
      if (afterMs > 0) return retry({ notSent: true, burnsAttempt: false, pausesTarget: true, afterMs });
      return status === 409 || status >= 500 ? retry() : failed({ status });
    },
  });
// #endregion

// #region look-up
export const naiveMail = (mailer: string) =>
  httpEffect<{ reference: string; to: string }>({
    kind: 'refund_mail',
    risk: 'irreversible',
    idempotency: 'none',
    allowPrivateAddresses: ['127.0.0.1'],
    request: { url: `${mailer}/messages` },
    reconcile: {
      request: ({ idempotencyKey }) => ({ url: `${mailer}/messages/${encodeURIComponent(idempotencyKey)}` }),
      read: ({ status }) => (status === 200 ? 'applied' : 'absent'),
    },
  });
// #endregion

// #region exercise
export async function exercise(handler: typeof refund): Promise<EffectReport> {
  const provider = await createProviderDouble();
  const input = { order: 'ORD-2041', amount: '2154.00' };
  const report = await exerciseEffect(handler(provider.url), { input, provider, patience: '1s' });
  await provider.close();
  return report;
}
// #endregion

/** The same for mail, whose payload repeats the key of its effect. */
export async function exerciseMail(): Promise<EffectReport> {
  const provider = await createProviderDouble();
  // #region key
  const input = (idempotencyKey: string) => ({ reference: idempotencyKey, to: 'ana@example.com' });
  const report = await exerciseEffect(naiveMail(provider.url), { input, provider });
  // #endregion
  await provider.close();
  return report;
}
