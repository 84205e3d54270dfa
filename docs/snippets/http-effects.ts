import { profiles } from 'comanda';
import { httpEffect, httpTransport } from 'comanda/transports/http';

// #region keyed
/** The target recognises a repeated key: an uncertain attempt is sent again, with the same key. */
export const refund = httpEffect({
  kind: 'issue_refund',
  target: 'payments',
  risk: 'irreversible',
  idempotency: profiles.stripe,
  request: {
    url: `${process.env['PAYMENTS_URL']}/refunds`,
    headers: { authorization: `Bearer ${process.env['PAYMENTS_TOKEN']}` },
  },
  providerId: '/id',
  redact: ['customer.email'],
  allowPrivateAddresses: ['127.0.0.1'], // hidden
});
// #endregion

// #region profile
/** A provider that looks for the key in the body, and forgets it after an hour. */
export const charge = httpEffect({
  kind: 'charge_card',
  target: 'cards',
  risk: 'irreversible',
  idempotency: { mode: 'key', carrier: { body: '/idempotency_key' }, lifetime: '1h', keyMaxBytes: 45 },
  request: { url: `${process.env['PAYMENTS_URL']}/payments` },
  allowPrivateAddresses: ['127.0.0.1'], // hidden
});
// #endregion

// #region looked-up
/** The target sends once more whatever it gets: an uncertain attempt is looked up before anything else. */
export const mail = httpEffect<{ reference: string; to: string }>({
  kind: 'refund_mail',
  target: 'mail',
  risk: 'irreversible',
  idempotency: 'none',
  request: { url: `${process.env['MAIL_URL']}/messages` },
  reconcile: {
    request: ({ input }) => ({
      url: `${process.env['MAIL_URL']}/messages?reference=${encodeURIComponent(input.reference)}`,
    }),
    read: ({ status }) => (status === 200 ? 'applied' : status === 404 ? 'absent' : 'cannotTell'),
  },
  allowPrivateAddresses: ['127.0.0.1'], // hidden
});
// #endregion

// #region natural
/** Repeating it changes nothing more: the same state is written again. */
export const profile = httpEffect<{ customer: string; city: string }>({
  kind: 'crm_profile',
  target: 'crm',
  risk: 'reversible',
  idempotency: 'natural',
  request: ({ input, payloadText }) => ({
    method: 'PUT',
    url: `${process.env['PAYMENTS_URL']}/customers/${encodeURIComponent(input.customer)}`,
    body: payloadText,
  }),
  timeout: '5s',
  retry: { maxAttempts: 5, baseDelay: '500ms', maxDelay: '1m' },
  allowPrivateAddresses: ['127.0.0.1'], // hidden
});
// #endregion

// #region transport
/** One transport for several kinds: shared connections, an own certificate authority, one host inside the network. */
export const inside = httpTransport({
  connections: 32,
  allowPrivateAddresses: ['billing.internal'],
});

export const invoice = httpEffect({
  kind: 'post_invoice',
  risk: 'reversible',
  idempotency: 'key',
  request: { url: 'https://billing.internal/invoices' },
  transport: inside,
});
// #endregion
