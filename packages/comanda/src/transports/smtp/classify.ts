import { UNUSABLE_PAUSE_MS } from '../../kernel/limits.js';
import type { Evidence, Outcome } from '../../ports/outcome.js';

/** What came of a message. Every one of these is a row of {@link SMTP_CLASSIFICATION}. */
export type SmtpEvent =
  | 'refusedMessage'
  | 'notMade'
  | 'unusable'
  | 'released'
  | 'notSent'
  | 'noAnswer'
  | 'partly'
  | 'accepted'
  | 'laterHere'
  | 'neverHere'
  | 'credentials'
  | 'serverRefuses';

/** One row of the table. */
export interface SmtpClassificationRow {
  /** For the reader of the documentation. */
  readonly when: string;
  readonly verdict:
    | { readonly outcome: 'completed' | 'failed' | 'unknown' }
    | {
        readonly outcome: 'retry';
        readonly notSent: true;
        readonly burnsAttempt?: false;
        readonly pausesTarget?: 'here';
        readonly breaksTarget?: true;
        readonly afterMs?: number;
      };
}

const RETRY = { outcome: 'retry', notSent: true } as const;
const REFUSES_US = { ...RETRY, breaksTarget: true } as const;

/** How outcomes follow from what the server did. The one place that decides it. */
export const SMTP_CLASSIFICATION: Readonly<Record<SmtpEvent, SmtpClassificationRow>> = {
  refusedMessage: {
    when: 'The message holds what cannot be sent: a line break in a header, a list where one mailbox is expected, nobody to send to. No connection was made.',
    verdict: { outcome: 'failed' },
  },
  notMade: { when: 'The function that makes the message threw, or did not end in time.', verdict: RETRY },
  unusable: {
    when: 'This process cannot send mail at all (nodemailer not installed).',
    verdict: { ...RETRY, burnsAttempt: false, pausesTarget: 'here', afterMs: UNUSABLE_PAUSE_MS },
  },
  released: {
    when: 'Stopped by the relay before the end of the message: shutdown, lease lost, or its turn came too late.',
    verdict: { ...RETRY, burnsAttempt: false },
  },
  notSent: {
    when: 'Refused, name not resolved, TLS failed, cut or silent before the end of the message.',
    verdict: RETRY,
  },
  credentials: {
    when: 'Our credentials are refused (5xx to AUTH; 530, 534, 535 or 538 at any command): not the message is at fault.',
    verdict: { ...REFUSES_US, burnsAttempt: false },
  },
  serverRefuses: {
    when: '5xx to the connection itself (greeting, EHLO, STARTTLS): this server does not want us. The attempt counts.',
    verdict: REFUSES_US,
  },
  laterHere: {
    when: '4xx to MAIL, RCPT, DATA or to the whole message, for any recipient: not accepted now. Nobody gets it yet.',
    verdict: RETRY,
  },
  neverHere: {
    when: '5xx to MAIL, RCPT, DATA or to the whole message, for any recipient: never accepted. Nobody gets it.',
    verdict: { outcome: 'failed' },
  },
  noAnswer: {
    when: 'The end of the message may have left, and no whole answer came: cut, silent, stopped, or an answer that is not SMTP.',
    verdict: { outcome: 'unknown' },
  },
  partly: {
    when: 'The server took the message although it had refused some recipients and we did not want that.',
    verdict: { outcome: 'unknown' },
  },
  accepted: { when: '2xx to the whole message.', verdict: { outcome: 'completed' } },
};

/** The outcome of an attempt. */
export function classify(event: SmtpEvent, evidence: Evidence): Outcome {
  return { ...evidence, ...SMTP_CLASSIFICATION[event].verdict };
}
