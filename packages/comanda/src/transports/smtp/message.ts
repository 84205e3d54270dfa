import { domainToASCII } from 'node:url';
import { isDomain, messageIdOf } from './message-id.js';
import type { Nodemailer } from './nodemailer.js';
import type { SmtpMailbox, SmtpMessage } from './types.js';

/** A message as it goes out. */
export interface ComposedMessage {
  readonly messageId: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly bytes: Buffer;
}

/** A message that can never be sent as it is. Its text names the part, never its value. */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused';
}

interface Mailbox {
  readonly name: string;
  readonly address: string;
}

// Line breaks end a header and begin the next one; the other controls have no business in one.
const UNSAFE = /[\u0000-\u0008\u000a-\u001f\u007f]/;
const HEADER_NAME = /^[!-9;-~]{1,76}$/;
const OURS =
  /^(?:from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|return-path|received|content-.*)$/i;

/**
 * Makes the bytes of a message.
 *
 * @param message what the kind's function made of the payload
 * @param key idempotency key, from which the Message-ID follows
 * @param domain its right side; without one, that of the sender
 * @throws MessageRefused when a value could smuggle a header or a recipient in, or there is nobody to send to
 */
export async function compose(
  { MailComposer, addressparser }: Pick<Nodemailer, 'MailComposer' | 'addressparser'>,
  message: SmtpMessage,
  key: string,
  domain: string | undefined,
): Promise<ComposedMessage> {
  const mailbox = (given: SmtpMailbox, part: string): Mailbox => {
    const found = typeof given === 'string' ? parsed(given, part) : { name: given.name ?? '', address: given.address };
    line(found.name, part);
    const at = found.address.lastIndexOf('@');
    if (at < 1 || at === found.address.length - 1 || /[\s<>,;:"\\()]/.test(line(found.address, part))) {
      throw new MessageRefused(`${part} is not one mailbox`);
    }
    return found;
  };
  const parsed = (given: string, part: string): Mailbox => {
    const [only, ...more] = addressparser(line(given, part));
    if (only?.address === undefined || more.length > 0) throw new MessageRefused(`${part} is not one mailbox`);
    return only;
  };
  const list = (given: SmtpMessage['to'] | undefined, part: string): Mailbox[] =>
    (given === undefined ? [] : isList(given) ? given : [given]).map((one) => mailbox(one, part));

  const from = mailbox(message.from, 'from');
  const [to, cc, bcc] = [list(message.to, 'to'), list(message.cc, 'cc'), list(message.bcc, 'bcc')];
  const everybody = [...new Set([...to, ...cc, ...bcc].map(({ address }) => address))];
  if (everybody.length === 0) throw new MessageRefused('to names nobody');
  const headers = Object.entries(message.headers ?? {}).map(([name, value]) => {
    if (!HEADER_NAME.test(name) || OURS.test(name))
      throw new MessageRefused(`the header ${JSON.stringify(name)} cannot be set`);
    return { key: name, value: line(value, `the header ${name}`) };
  });
  const messageId = messageIdOf(key, domain ?? domainOf(from.address));
  const composer = new MailComposer({
    from,
    to,
    cc,
    bcc,
    ...(message.replyTo === undefined ? {} : { replyTo: mailbox(message.replyTo, 'replyTo') }),
    subject: line(message.subject, 'subject'),
    ...(message.text === undefined ? {} : { text: String(message.text) }),
    ...(message.html === undefined ? {} : { html: String(message.html) }),
    attachments: (message.attachments ?? []).map(({ filename, content, contentType, cid }) => ({
      filename: line(filename, 'the name of an attachment'),
      content: typeof content === 'string' ? content : Buffer.from(content),
      ...(contentType === undefined ? {} : { contentType: line(contentType, 'the type of an attachment') }),
      ...(cid === undefined ? {} : { cid: line(cid, 'the id of an attachment') }),
    })),
    headers,
    messageId,
    // A payload must not be able to name a file or an address to be read.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return { messageId, from: from.address, to: everybody, bytes: await composer.compile().build() };
}

function isList(given: SmtpMessage['to']): given is readonly SmtpMailbox[] {
  return Array.isArray(given);
}

/** A text of one line. */
function line(text: unknown, part: string): string {
  if (typeof text !== 'string') throw new MessageRefused(`${part} is not a text`);
  if (UNSAFE.test(text)) throw new MessageRefused(`${part} holds a line break or a control character`);
  return text;
}

function domainOf(address: string): string {
  const domain = domainToASCII(address.slice(address.lastIndexOf('@') + 1));
  if (!isDomain(domain)) throw new MessageRefused('the domain of from cannot be that of a Message-ID');
  return domain;
}
