import type { KeyProfile } from './idempotency.js';

/**
 * What well-known providers guarantee about idempotency keys, each by its documentation as read on the date given. A contract can differ by account, endpoint
 * or API version, and can change: compare it with what the page says today. What a page does not say is left to the cautious default of {@link KeyProfile}.
 */
export const profiles = {
  /** API v1. https://docs.stripe.com/api/idempotent_requests, read 2026-11-30: up to 255 characters, may be removed after 24 hours, status and body of the first execution are replayed, a 500 as well; other parameters are an error. */
  stripe: {
    mode: 'key',
    carrier: { header: 'Idempotency-Key' },
    lifetime: '24h',
    keyMaxBytes: 255,
    conflict: 'in-progress',
    bodyMismatch: 'refused',
    replays: 'any-status',
  },
  /** https://resend.com/docs/dashboard/emails/idempotency-keys, read 2026-11-30: `POST /emails` and `/emails/batch`, 24 hours, up to 256 characters; 409 for another body and for a request still at work (our body never changes). */
  resend: {
    mode: 'key',
    carrier: { header: 'Idempotency-Key' },
    lifetime: '24h',
    keyMaxBytes: 256,
    conflict: 'in-progress',
    bodyMismatch: 'refused',
  },
  /** https://www.checkout.com/docs/payments/manage-payments/idempotency, read 2026-11-30: 24 hours unless agreed otherwise (once 120 seconds in the sandbox); only 2xx are kept; a request still at work is answered by 429. */
  checkoutCom: {
    mode: 'key',
    carrier: { header: 'Cko-Idempotency-Key' },
    lifetime: '24h',
    conflict: 'failed',
    replays: 'success',
  },
  /** Payments API v3. https://docs.truelayer.com/docs/idempotency-for-payment-requests, read 2026-11-30: 30 days from creation, another payload is an error (422 or 409), 409 while a request with the key is at work. */
  trueLayer: {
    mode: 'key',
    carrier: { header: 'Idempotency-Key' },
    lifetime: '30d',
    conflict: 'in-progress',
    bodyMismatch: 'refused',
  },
  /** https://docs.qonto.com/get-started/general/idempotent-requests, read 2026-11-30: 30 minutes, successful answers are replayed, also for another body. */
  qonto: {
    mode: 'key',
    carrier: { header: 'X-Qonto-Idempotency-Key' },
    lifetime: '30m',
    bodyMismatch: 'ignored',
    replays: 'success',
  },
  /** Orders API v2, whose keys live shortest. https://developer.paypal.com/docs/api/orders/v2/ (PayPal-Request-Id), read 2026-11-30 as published in PayPal's SDKs: 6 hours, up to 108 characters; a simultaneous request may fail. */
  paypal: {
    mode: 'key',
    carrier: { header: 'PayPal-Request-Id' },
    lifetime: '6h',
    keyMaxBytes: 108,
    conflict: 'in-progress',
  },
  /** https://developerhub.ppro.com/global-api/reference/api-requests-idempotency, read 2026-11-30: 24 hours by default, 409 while the first request is under way, a 4xx frees the key (what becomes of a 5xx is not said). */
  ppro: {
    mode: 'key',
    carrier: { header: 'Request-Idempotency-Key' },
    lifetime: '24h',
    conflict: 'in-progress',
  },
  /** https://developer.zuora.com/docs/guides/idempotent-requests, read 2026-11-30: POST and PATCH, 24 hours, less than 255 characters, every answer is replayed, 409 while the first request is at work, 422 for another body. */
  zuora: {
    mode: 'key',
    carrier: { header: 'Idempotency-Key' },
    lifetime: '24h',
    keyMaxBytes: 254,
    conflict: 'in-progress',
    bodyMismatch: 'refused',
    replays: 'any-status',
  },
} as const satisfies Readonly<Record<string, KeyProfile>>;
