import { smtpEffect } from 'comanda/transports/smtp';

// #region kind
/** One message per effect. The server recognises no repetition, so a lost answer is put before a person. */
export const refundMail = smtpEffect<{ order: string; to: string; amount: string }>({
  kind: 'refund_mail',
  target: 'mail',
  transport: {
    host: process.env['SMTP_HOST'] ?? 'localhost',
    port: Number(process.env['SMTP_PORT'] ?? 587),
  },
  message: ({ order, to, amount }) => ({
    from: 'Cumbre <shop@cumbre.example>',
    to,
    subject: `Refund for ${order}`,
    text: `${amount} are on their way to you.`,
  }),
  redact: ['to'],
  maxAge: '2d',
  onUnknown: 'ask-human',
});
// #endregion

// #region look-up
/** Where the server's log can be asked, an unknown outcome clears up by itself. */
export const receiptMail = smtpEffect<{ order: string; to: string }>({
  kind: 'receipt_mail',
  target: 'mail',
  transport: {
    host: process.env['SMTP_HOST'] ?? 'localhost',
    port: 465,
    secure: true,
    auth: { user: 'shop', pass: process.env['SMTP_PASSWORD'] ?? 'not set' },
  },
  message: ({ order, to }) => ({
    from: 'shop@cumbre.example',
    to,
    subject: `Receipt for ${order}`,
    html: '<p>Thank you.</p>',
  }),
  reconcile: async (messageId, _input, { signal }) => {
    const url = `${process.env['MAIL_LOG_URL']}/messages/${encodeURIComponent(messageId)}`;
    const { status } = await fetch(url, { signal });
    return status === 200 ? 'applied' : status === 404 ? 'absent' : 'cannotTell';
  },
});
// #endregion
