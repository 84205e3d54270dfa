import type { EffectDefinition, EffectKind } from 'comanda';
import { httpEffect } from 'comanda/transports/http';
import { smtpEffect } from 'comanda/transports/smtp';
import { type KindName, MAIL, type Payload } from '../kinds.js';
import type { RelayConfig } from './configuration.js';

/** The four kinds over HTTP, and mail over SMTP. */
export function effectsOf({
  provider,
  mail,
  timeoutMs,
}: RelayConfig): readonly (EffectKind | EffectDefinition<never>)[] {
  const shared = {
    risk: 'irreversible',
    allowPrivateAddresses: true,
    timeout: timeoutMs,
    retry: { maxAttempts: 30, baseDelay: 30, maxDelay: 120 },
    providerId: '/id',
  } as const;
  const place = (kind: KindName, { run, ref }: Payload): string => `${provider}/${run}/${kind}/${ref}`;
  const [host = '', port = ''] = mail.split(':');
  return [
    httpEffect<Payload>({
      ...shared,
      kind: 'keyed',
      idempotency: 'key',
      request: ({ input }) => ({ url: place('keyed', input) }),
    }),
    httpEffect<Payload>({
      ...shared,
      kind: 'natural',
      idempotency: 'natural',
      request: ({ input }) => ({ url: place('natural', input), method: 'PUT' }),
    }),
    httpEffect<Payload>({
      ...shared,
      kind: 'looked_up',
      idempotency: 'none',
      request: ({ input }) => ({ url: place('looked_up', input) }),
      reconcile: { request: ({ input }) => ({ url: place('looked_up', input) }) },
    }),
    httpEffect<Payload>({
      ...shared,
      kind: 'ask_human',
      idempotency: 'none',
      onUnknown: 'ask-human',
      request: ({ input }) => ({ url: place('ask_human', input) }),
    }),
    smtpEffect<Payload>({
      kind: MAIL,
      transport: { host, port: Number(port) },
      timeout: timeoutMs,
      retry: shared.retry,
      onUnknown: 'ask-human',
      message: ({ run, ref }) => ({
        from: 'shop@cumbre.example',
        to: 'ana@cumbre.example',
        subject: `${run} ${ref}`,
        text: 'Refunded.',
      }),
    }),
  ];
}
