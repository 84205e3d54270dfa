import { describeThrown } from '../../kernel/describe-thrown.js';
import type { Evidence } from '../../ports/outcome.js';
import type { SmtpEvent } from './classify.js';

/** How far a delivery has come. `answer`: the end of the message may have left. */
export type Phase = 'connection' | 'login' | 'envelope' | 'body' | 'answer';

/** What came of a delivery. */
export interface Delivery {
  readonly event: SmtpEvent;
  readonly evidence: Evidence;
}

/** What nodemailer says about an error. */
export interface SmtpError extends Error {
  readonly code?: string | undefined;
  readonly originalCode?: string | undefined;
  readonly command?: string | undefined;
  readonly response?: string | undefined;
  readonly responseCode?: number | undefined;
  readonly recipient?: string | undefined;
  readonly rejectedErrors?: readonly SmtpError[] | undefined;
}

/** Replies that speak of credentials (RFC 4954, 6), whatever command they answer. */
const CREDENTIALS: ReadonlySet<number> = new Set([530, 534, 535, 538]);
const QUEUE_ID = /\bqueued as <?([^\s<>;,)]{1,200})|\bid=([^\s<>;,)]{1,200})/i;

/** What an error in a phase means. */
export function verdict(phase: Phase, error: SmtpError): Delivery {
  const refused = phase === 'envelope' ? refusal(error.rejectedErrors ?? []) : undefined;
  return refused ?? { event: eventOf(phase, error), evidence: evidenceOf(phase, error) };
}

function eventOf(phase: Phase, error: SmtpError): SmtpEvent {
  const { code, command, responseCode: status = 0 } = error;
  const later = status >= 400 && status <= 499;
  const never = status >= 500 && status <= 599;
  if (phase === 'answer') {
    // Only a whole reply to the whole message is an answer; what the end of a connection left over is none.
    if (code !== 'EMESSAGE' || command !== 'DATA') return 'noAnswer';
    return later ? 'laterHere' : never ? 'neverHere' : 'noAnswer';
  }
  if (CREDENTIALS.has(status)) return 'credentials';
  // Without a reply: no mechanism that both sides know.
  if (code === 'EAUTH') return later ? 'notSent' : 'credentials';
  if (phase === 'connection') return never ? 'serverRefuses' : 'notSent';
  if (code === 'EENVELOPE' && command === 'API') return 'refusedMessage';
  // Larger than the server had announced: it was not even asked.
  if (code === 'EMESSAGE' && status === 0) return 'neverHere';
  if (code !== 'EENVELOPE') return 'notSent';
  return never ? 'neverHere' : later ? 'laterHere' : 'notSent';
}

/**
 * One effect is one act: when any recipient was refused, nobody gets the message. A message that some had and others not could
 * neither be repeated (twice for the ones) nor be called completed (never for the others).
 */
export function refusal(refused: readonly SmtpError[]): Delivery | undefined {
  const worst = refused.find(({ responseCode = 0 }) => responseCode >= 500) ?? refused[0];
  if (worst === undefined) return undefined;
  const event = (worst.responseCode ?? 0) >= 500 ? 'neverHere' : 'laterHere';
  return { event, evidence: { ...evidenceOf('envelope', worst), errorText: recipientsText(refused) } };
}

/** What the acceptance of a message means. */
export function accepted(
  response: string,
  serverMessageId: string | undefined,
  refused: readonly SmtpError[],
): Delivery {
  const [, queued, id] = QUEUE_ID.exec(response) ?? [];
  // A full stop ends the sentence, not the id.
  const providerId = (queued ?? id)?.replace(/\.$/, '') ?? serverMessageId;
  const evidence = {
    status: Number(response.slice(0, 3)),
    response,
    ...(providerId === undefined ? {} : { providerId }),
  };
  if (refused.length === 0) return { event: 'accepted', evidence };
  return { event: 'partly', evidence: { ...evidence, errorClass: 'partly', errorText: recipientsText(refused) } };
}

function recipientsText(refused: readonly SmtpError[]): string {
  return refused.map(({ recipient, response }) => `${recipient ?? 'a recipient'}: ${response ?? 'refused'}`).join('; ');
}

function evidenceOf(phase: Phase, error: SmtpError): Evidence {
  const { errorClass, errorText } = describeThrown(error);
  const { responseCode: status, response } = error;
  return {
    errorClass: status === undefined ? (error.originalCode ?? errorClass) : `smtp_${status}`,
    errorText: `${phase}: ${errorText}`,
    ...(status === undefined ? {} : { status }),
    ...(response === undefined ? {} : { response }),
  };
}
