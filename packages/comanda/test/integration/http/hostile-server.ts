import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/kernel/clock.js';
import type { EffectDefinition } from '../../../src/ports/effect-definition.js';
import type { EffectKind, PerformContext } from '../../../src/ports/effect-kind.js';
import type { HttpTransport } from '../../../src/transports/http/index.js';
import { type HttpTransportOptions, httpTransport } from '../../../src/transports/http/index.js';

/** A request as the provider saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface Provider {
  readonly url: string;
  readonly port: number;
  /** Whole requests, in order of arrival. */
  readonly seen: Seen[];
  /** Connections ever accepted. */
  connections(): number;
  /** Connections open now. */
  open(): number;
}

/** An HTTP provider that behaves as told; its requests are complete before `answer` runs. */
export async function provider(
  answer: (response: ServerResponse, request: Seen, index: number) => void,
): Promise<Provider> {
  const seen: Seen[] = [];
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers, rawHeaders } = request;
      const one = { method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString() };
      answer(response, one, seen.push(one));
    });
  });
  return { ...(await listen(server)), seen };
}

/** A TCP peer that is no HTTP server unless it is told to be one. */
export async function peer(onSocket: (socket: Socket) => void): Promise<Omit<Provider, 'seen'> & { bytes(): number }> {
  let bytes = 0;
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
    onSocket(socket);
  });
  return { ...(await listen(server)), bytes: () => bytes };
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A transport that may reach loopback, closed when the test ends. */
export function loopback(options: HttpTransportOptions = {}): HttpTransport {
  const transport = httpTransport({ allowPrivateAddresses: true, ...options });
  onTestFinished(() => transport.close());
  return transport;
}

/** The context of an attempt. */
export function attempt(more: Partial<PerformContext> = {}): PerformContext {
  return {
    idempotencyKey: 'refund:ORD-2041/issue_refund',
    attempt: 1,
    fence: '7',
    payloadText: '{"amount": 2154.00, "currency": "MXN"}',
    signal: new AbortController().signal,
    sendBy: systemClock.monotonicMs() + 30_000,
    timeoutMs: 5_000,
    subject: 'order:ORD-2041',
    subjectVersion: null,
    idempotency: 'key',
    headers: {},
    ...more,
  };
}

/** A kind as the relay runs it: every attempt has the class of the kind, unless its key may be forgotten by now. */
export function asRelay(effect: EffectDefinition<never>): EffectKind {
  const kind = effect.definition;
  return { ...kind, perform: (input, context) => kind.perform(input, { ...context, idempotency: kind.idempotency }) };
}

/** Waits until the condition holds; fails after five seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = systemClock.monotonicMs() + 5_000;
  while (!condition()) {
    if (systemClock.monotonicMs() > deadline) throw new Error(`never became true: ${condition}`);
    await systemClock.sleep(5);
  }
}

async function listen(server: Server | TcpServer): Promise<Omit<Provider, 'seen'>> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, connections: () => accepted, open: () => sockets.size };
}
