import type addressparser from 'nodemailer/lib/addressparser';
import type MailComposer from 'nodemailer/lib/mail-composer';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';

/** The parts of nodemailer that are used: one connection, one message, one address. None of its transports, pools or plug-ins. */
export interface Nodemailer {
  readonly SMTPConnection: typeof SMTPConnection;
  readonly MailComposer: typeof MailComposer;
  readonly addressparser: typeof addressparser;
}

/** Loads it when the first message is sent, so that the package works without it. */
export async function loadNodemailer(): Promise<Nodemailer> {
  const [connection, composer, parser] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/mail-composer'),
    import('nodemailer/lib/addressparser'),
  ]);
  return { SMTPConnection: connection.default, MailComposer: composer.default, addressparser: parser.default };
}
