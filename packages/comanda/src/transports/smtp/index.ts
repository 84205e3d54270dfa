/** Mail: `comanda/transports/smtp`. Needs the package `nodemailer` (10). */
export { classify, SMTP_CLASSIFICATION, type SmtpClassificationRow, type SmtpEvent } from './classify.js';
export { messageIdOf } from './message-id.js';
export { smtpEffect } from './smtp-effect.js';
export type {
  SmtpAttachment,
  SmtpEffectDefinition,
  SmtpFinding,
  SmtpMail,
  SmtpMailbox,
  SmtpMessage,
  SmtpServer,
  SmtpTls,
} from './types.js';
