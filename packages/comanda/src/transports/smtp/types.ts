import type { Duration } from '../../kernel/durations.js';
import type { Evidence } from '../../ports/outcome.js';

/** The server that takes the messages. It comes from the relay's configuration, never from a payload. */
export interface SmtpServer {
  readonly host: string;
  /** Default: 465 with `secure`, else 587. */
  readonly port?: number;
  /** TLS from the first byte. Default: `true` on port 465. Without it the connection is upgraded with STARTTLS when the server offers it. */
  readonly secure?: boolean;
  /** Nothing is said on a connection that could not be upgraded. Default: `true` when there is `auth`. */
  readonly requireTls?: boolean;
  /** Its password is masked wherever an answer or error repeats it. */
  readonly auth?: { readonly user: string; readonly pass: string };
  /** Own certificate authorities, and a client certificate; PEM. Certificates are always verified. */
  readonly tls?: SmtpTls;
  /** Name in the greeting (EHLO). Default: the host's, when it has a domain. */
  readonly name?: string;
}

/** See {@link SmtpServer}. */
export interface SmtpTls {
  readonly ca?: string | readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  /** Name that the certificate must carry. Default: the host. */
  readonly servername?: string;
}

/** One mailbox: `ana@example.com`, `Ana <ana@example.com>`, or its parts. Never a list: a comma in a value adds no recipient. */
export type SmtpMailbox = string | { readonly name?: string; readonly address: string };

/** A file that travels with the message. Its content is given; files and addresses are never read. */
export interface SmtpAttachment {
  readonly filename: string;
  readonly content: string | Uint8Array;
  /** Default: by the file name. */
  readonly contentType?: string;
  /** For pictures that `html` shows as `cid:…`. */
  readonly cid?: string;
}

/** A message. Values with line breaks or control characters outside `text` and `html` are refused. */
export interface SmtpMessage {
  readonly from: SmtpMailbox;
  readonly to: SmtpMailbox | readonly SmtpMailbox[];
  readonly cc?: SmtpMailbox | readonly SmtpMailbox[];
  readonly bcc?: SmtpMailbox | readonly SmtpMailbox[];
  readonly replyTo?: SmtpMailbox;
  readonly subject: string;
  readonly text?: string;
  readonly html?: string;
  readonly attachments?: readonly SmtpAttachment[];
  /** Further headers, e.g. `List-Unsubscribe`. Not those that the transport writes. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a message is made from, and looked up by. */
export interface SmtpMail<Input = unknown> {
  /** The payload, parsed without rounding: large integers are bigint. */
  readonly input: Input;
  readonly idempotencyKey: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly subject: string;
}

/** What a look-up found; with evidence, or as one word. */
export type SmtpFinding =
  | 'applied'
  | 'absent'
  | 'cannotTell'
  | (Evidence & { readonly found: 'applied' | 'absent' | 'cannotTell' });

/** An effect kind that is one message. SMTP recognises no repetition: its idempotency is `none`, its risk `irreversible`. */
export interface SmtpEffectDefinition<Input = unknown> {
  readonly kind: string;
  /** Default: the kind. Kinds of one target share its breaker, pauses and limits. */
  readonly target?: string;
  /** Default: 1. */
  readonly version?: number;
  readonly transport: SmtpServer;
  /** Makes the message. The same payload must give the same message; it may be asynchronous, and must not send anything. */
  readonly message: (input: Input, mail: SmtpMail<Input>) => SmtpMessage | Promise<SmtpMessage>;
  /** Right side of the Message-ID. Default: the domain of `from`. Name it where that may change between attempts. */
  readonly messageIdDomain?: string;
  /**
   * Looks a message with an unknown outcome up by its Message-ID, e.g. in the log of your mail server or at its API.
   * `absent` only if it would certainly be known there.
   */
  readonly reconcile?: (
    messageId: string,
    input: Input,
    mail: SmtpMail<Input> & { readonly signal: AbortSignal },
  ) => SmtpFinding | Promise<SmtpFinding>;
  /** What to do with an unknown outcome. Without `reconcile` it must say `ask-human`. */
  readonly onUnknown?: 'reconcile' | 'ask-human';
  /** From the connection to the server's answer. Default: 1 min; servers may take long to answer a whole message. */
  readonly timeout?: Duration;
  readonly retry?: {
    /** Default: 8. */
    readonly maxAttempts?: number;
    /** Doubles after each attempt, with full jitter. */
    readonly backoff?: 'exponential';
    /** Default: 1 s. */
    readonly baseDelay?: Duration;
    /** Default: 10 min. */
    readonly maxDelay?: Duration;
  };
  /** Messages of this kind that one relay sends at the same time, each on its own connection. Default: 4. */
  readonly concurrency?: number;
  /** A message that was not sent within this time is cancelled at its turn. Default: never. */
  readonly maxAge?: Duration;
  /** Dotted paths of the payload, e.g. `customer.email`, whose values never enter stored evidence. */
  readonly redact?: readonly string[];
  /** Checks the payload at claim; returns what is wrong with it. */
  readonly validate?: (input: unknown) => Promise<readonly string[]>;
}
