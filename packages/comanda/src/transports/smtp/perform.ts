import { unlessAborted } from '../../kernel/attempt-time.js';
import { type Clock, systemClock } from '../../kernel/clock.js';
import { describeThrown } from '../../kernel/describe-thrown.js';
import { STORED_ERROR_MAX_BYTES, STORED_RESPONSE_MAX_BYTES } from '../../kernel/limits.js';
import { redactText, valuesAt } from '../../kernel/redact.js';
import type { PerformContext } from '../../ports/effect-kind.js';
import type { Evidence, Outcome, ReconcileResult } from '../../ports/outcome.js';
import { classify } from './classify.js';
import { deliver } from './deliver.js';
import { type ComposedMessage, compose, MessageRefused } from './message.js';
import { loadNodemailer, type Nodemailer } from './nodemailer.js';
import type { SmtpEffectDefinition, SmtpFinding, SmtpMail, SmtpServer } from './types.js';
import type { Delivery } from './verdict.js';

const PROVIDER_ID_MAX_BYTES = 512;

/** Sends one message. Never rejects. */
export async function performSend<Input>(
  definition: SmtpEffectDefinition<Input>,
  mail: SmtpMail<Input>,
  context: PerformContext,
  clock: Clock = systemClock,
): Promise<Outcome> {
  const startedMs = clock.monotonicMs();
  const { signal, sendBy: sendByMs, timeoutMs } = context;
  const made = await make(definition, mail, signal);
  const delivery =
    'event' in made
      ? made
      : await deliver(made.lib, definition.transport, made.message, { clock, startedMs, timeoutMs, sendByMs, signal });
  return classify(delivery.event, hide(delivery.evidence, secretsOf(definition, context)));
}

type Made = Delivery | { readonly lib: Nodemailer; readonly message: ComposedMessage };

async function make<Input>(
  definition: SmtpEffectDefinition<Input>,
  mail: SmtpMail<Input>,
  signal: AbortSignal,
): Promise<Made> {
  let lib: Nodemailer;
  try {
    lib = await loadNodemailer();
  } catch (thrown) {
    const errorText = `mail needs the package nodemailer next to comanda: npm install nodemailer@10 (${describeThrown(thrown).errorText})`;
    return { event: 'unusable', evidence: { errorClass: 'COMANDA_INVALID_CONFIG', errorText } };
  }
  try {
    const given = await unlessAborted(signal, () => definition.message(mail.input, mail));
    if (given === undefined)
      return { event: 'notMade', evidence: { errorClass: 'aborted', errorText: 'the message was not made in time' } };
    const message = await compose(lib, given, mail.idempotencyKey, definition.messageIdDomain);
    return { lib, message };
  } catch (thrown) {
    const refused = thrown instanceof MessageRefused;
    const errorClass = refused ? 'message_refused' : 'message_not_made';
    return {
      event: refused ? 'refusedMessage' : 'notMade',
      evidence: { errorClass, errorText: describeThrown(thrown).errorText },
    };
  }
}

/** Looks a message up by its Message-ID. Whatever goes wrong is `cannotTell`. */
export async function lookUp<Input>(
  definition: SmtpEffectDefinition<Input>,
  mail: SmtpMail<Input>,
  context: PerformContext,
): Promise<ReconcileResult> {
  const secrets = secretsOf(definition, context);
  const { reconcile } = definition;
  const made = await make(definition, mail, context.signal);
  if ('event' in made) return { found: 'cannotTell', ...hide(made.evidence, secrets) };
  try {
    const finding = await reconcile?.(made.message.messageId, mail.input, {
      ...mail,
      signal: context.signal,
    });
    const { found, ...evidence } = resultOf(finding);
    return { found, ...hide(evidence, secrets) };
  } catch (thrown) {
    return { found: 'cannotTell', ...hide(describeThrown(thrown), secrets) };
  }
}

function resultOf(finding: SmtpFinding | undefined): ReconcileResult {
  const result = typeof finding === 'string' ? { found: finding } : finding;
  if (result?.found === 'applied' || result?.found === 'absent' || result?.found === 'cannotTell') return result;
  return { found: 'cannotTell', errorClass: 'look_up_answer', errorText: 'the look-up answered something else' };
}

function secretsOf<Input>(
  { transport, redact = [] }: SmtpEffectDefinition<Input>,
  { payloadText }: PerformContext,
): string[] {
  return [...passwordsOf(transport), ...(redact.length === 0 ? [] : valuesAt(payloadText, redact))];
}

/** The password, and the forms in which it travels. */
function passwordsOf({ auth, tls }: SmtpServer): string[] {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const own = auth === undefined ? [] : [auth.pass, base64(auth.pass), base64(`\0${auth.user}\0${auth.pass}`)];
  return tls?.passphrase === undefined ? own : [...own, tls.passphrase];
}

function hide({ response, errorText, providerId, ...rest }: Evidence, secrets: readonly string[]): Evidence {
  const cut = (text: string, maxBytes: number): string => redactText(text, { secrets, maxBytes });
  return {
    ...rest,
    ...(providerId === undefined ? {} : { providerId: cut(providerId, PROVIDER_ID_MAX_BYTES) }),
    ...(errorText === undefined ? {} : { errorText: cut(errorText, STORED_ERROR_MAX_BYTES) }),
    ...(response === undefined || response === '' ? {} : { response: cut(response, STORED_RESPONSE_MAX_BYTES) }),
  };
}
