import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { httpEffect } from '../../../src/transports/http/index.js';
import { attempt, loopback } from './hostile-server.js';
import { TEST_CERTIFICATE, TEST_KEY } from './test-certificate.js';

async function secureProvider(): Promise<{ port: number; requests(): number }> {
  let requests = 0;
  const server = createServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }, (_, response) => {
    requests++;
    response.end();
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests: () => requests };
}

const definition = { kind: 'k', risk: 'irreversible', idempotency: 'none', onUnknown: 'ask-human' } as const;

it('an unknown certificate is not sent to', async () => {
  const target = await secureProvider();
  const effect = httpEffect({
    ...definition,
    request: { url: `https://127.0.0.1:${target.port}` },
    transport: loopback(),
  });
  expect(await effect.definition.perform({}, attempt())).toMatchObject({
    outcome: 'retry',
    notSent: true,
    errorClass: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  });
  expect(target.requests()).toBe(0);
});

it('a certificate for another name is not sent to, a known one is', async () => {
  const target = await secureProvider();
  const transport = loopback({ tls: { ca: TEST_CERTIFICATE } });
  const send = (host: string) =>
    httpEffect({ ...definition, request: { url: `https://${host}:${target.port}` }, transport }).definition.perform(
      {},
      attempt(),
    );
  expect(await send('127.0.0.1')).toMatchObject({ outcome: 'completed' });
  expect(await send('localhost')).toMatchObject({ outcome: 'completed' });
  expect(await send('127.0.0.2')).toMatchObject({ outcome: 'retry', notSent: true });
  expect(target.requests()).toBe(2);
});
