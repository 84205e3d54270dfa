import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type HttpEffectDefinition,
  type HttpTransportOptions,
  httpEffect,
} from '../../../src/transports/http/index.js';
import { attempt, loopback, until } from './hostile-server.js';

type Lookup = NonNullable<HttpTransportOptions['lookup']>;

/** Stands for the public internet in these tests, and for what must never be reached. */
const PUBLIC = '127.0.0.1';
const INSIDE = '127.0.0.2';

interface Place {
  readonly requests: string[];
  connections(): number;
  drop(): void;
}

/** Two places behind one port, as a name sees them whose address changes. */
async function twoPlaces(): Promise<{ readonly port: number; readonly outside: Place; readonly inside: Place }> {
  const outside = await place(PUBLIC, 0);
  const inside = await place(INSIDE, outside.port);
  return { port: outside.port, outside, inside };
}

async function place(address: string, port: number): Promise<Place & { readonly port: number }> {
  const requests: string[] = [];
  let connections = 0;
  const server: Server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.end('{"id":"re_1"}');
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    connections: () => connections,
    drop: () => server.closeAllConnections(),
  };
}

/** Answers each question with the next list; the last one for ever. */
function resolver(...answers: readonly (readonly string[])[]): Lookup & { asked(): number } {
  let asked = 0;
  const lookup = (_: string, __: object, callback: (error: null, found: object[]) => void): void => {
    const list = answers[Math.min(asked++, answers.length - 1)] ?? [];
    callback(
      null,
      list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return Object.assign(lookup as unknown as Lookup, { asked: () => asked });
}

function kind(port: number, lookup: Lookup, more: Partial<HttpEffectDefinition> = {}) {
  const transport = loopback({ lookup, allowPrivateAddresses: [PUBLIC] });
  const url = `http://pay.example:${port}/`;
  return httpEffect({ kind: 'k', risk: 'reversible', idempotency: 'key', request: { url }, transport, ...more })
    .definition;
}

const refused = { outcome: 'failed', errorClass: 'address_refused' };

describe('H12: a name whose address changes after it was judged (DNS rebinding)', () => {
  it.each(['fresh', 'keep-alive'] as const)(
    '%s: the answer that is judged is the one that is connected to',
    async (connection) => {
      const { port, outside, inside } = await twoPlaces();
      const effect = kind(port, resolver([PUBLIC], [INSIDE]), { connection });
      expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'completed' });
      if (connection === 'keep-alive') {
        // The connection is free again when the turn that brought the answer is over.
        await new Promise(setImmediate);
        // It leads where it was allowed to lead; only a new one asks again.
        expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'completed' });
        outside.drop();
        await until(() => outside.requests.length === 2);
      }
      const last = await untilRefused(() => effect.perform({}, attempt()));
      expect(last).toMatchObject(refused);
      expect(inside.connections()).toBe(0);
    },
  );

  it('one lookup per connection: nothing asks a second time between the judgement and the socket', async () => {
    const { port, outside, inside } = await twoPlaces();
    const lookup = resolver([PUBLIC], [INSIDE]);
    const effect = kind(port, lookup, { connection: 'fresh' });
    await effect.perform({}, attempt());
    expect([lookup.asked(), outside.connections(), inside.connections()]).toEqual([1, 1, 0]);
  });

  it('a mixed answer is used without what is inside, also when the rest does not answer', async () => {
    const { port, outside, inside } = await twoPlaces();
    const effect = kind(port, resolver([INSIDE, PUBLIC, INSIDE]), { connection: 'fresh' });
    expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'completed' });
    // Nothing listens there: a client that tries address after address must not come to the refused one.
    const dead = httpEffect({
      kind: 'k',
      risk: 'reversible',
      idempotency: 'key',
      request: { url: `http://pay.example:${port}/` },
      transport: loopback({ lookup: resolver(['127.0.0.3', INSIDE]), allowPrivateAddresses: ['127.0.0.3'] }),
    }).definition;
    expect(await dead.perform({}, attempt())).toMatchObject({ outcome: 'retry', errorClass: 'ECONNREFUSED' });
    expect([outside.connections(), inside.connections()]).toEqual([1, 0]);
  });

  it.each(['::ffff:127.0.0.2', '::ffff:7f00:2', 'fe80::1%lo', '::1', '169.254.169.254', 'fd00:ec2::254'])(
    'an answer of %s leads nowhere',
    async (address) => {
      const { port, inside } = await twoPlaces();
      expect(await kind(port, resolver([address])).perform({}, attempt())).toMatchObject(refused);
      expect(inside.connections()).toBe(0);
    },
  );

  it('look-ups are guarded as well', async () => {
    const { port, inside } = await twoPlaces();
    const request = { url: `http://pay.example:${port}/` };
    const effect = kind(port, resolver([INSIDE]), { reconcile: { request } });
    expect(await effect.reconcile?.({}, attempt())).toMatchObject({
      found: 'cannotTell',
      errorClass: 'address_refused',
    });
    const literal = kind(port, resolver([INSIDE]), {
      reconcile: { request: () => ({ url: `http://${INSIDE}:${port}/` }) },
    });
    expect(await literal.reconcile?.({}, attempt())).toMatchObject({
      found: 'cannotTell',
      errorClass: 'address_refused',
    });
    expect(inside.connections()).toBe(0);
  });

  it.each([
    '2130706434',
    '017700000002',
    '0x7f000002',
    '127.2',
    '0177.0.0.2',
    '[::ffff:127.0.0.2]',
    '[::ffff:7f00:2]',
    'localhost',
    'LOCALHOST.',
    'a.localhost',
  ])('a host written as %s is the address that it means', async (host) => {
    const { port, inside } = await twoPlaces();
    const effect = kind(port, resolver([INSIDE]), { request: () => ({ url: `http://${host}:${port}/` }) });
    expect(await effect.perform({}, attempt())).toMatchObject(refused);
    expect(inside.connections()).toBe(0);
  });

  it('a zone in a URL is no host', async () => {
    const effect = kind(1, resolver([INSIDE]), { request: () => ({ url: 'http://[fe80::1%25lo]:80/' }) });
    expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'retry', errorClass: 'request_not_made' });
  });

  it('a redirect to a place inside is not followed', async () => {
    const inside = await place(INSIDE, 0);
    const server = createServer((_, response) =>
      response.writeHead(307, { location: `http://${INSIDE}:${inside.port}/` }).end(),
    );
    await new Promise<void>((resolve) => server.listen(0, PUBLIC, resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    expect(await kind(port, resolver([PUBLIC])).perform({}, attempt())).toMatchObject({
      outcome: 'failed',
      status: 307,
    });
    expect(inside.connections()).toBe(0);
  });
});

/** A kept connection that was closed under a request says so first; the one after it connects anew. */
async function untilRefused(run: () => Promise<{ readonly outcome: string; readonly errorClass?: string }>) {
  for (let n = 0; ; n++) {
    const outcome = await run();
    if (outcome.errorClass === 'address_refused' || n === 3) return outcome;
  }
}
