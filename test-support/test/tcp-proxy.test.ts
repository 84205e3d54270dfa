import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import {
  afterThisTest,
  createDatabase,
  eventually,
  startTcpProxy,
  type TcpProxy,
  withClient,
} from '@comanda/test-support';
import { describe, expect, inject, it } from 'vitest';

/** A server that sends back what it gets. */
async function echo(): Promise<{ port: number; received(): string }> {
  let text = '';
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      socket.write(chunk);
    });
    socket.on('end', () => socket.end('bye'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterThisTest(() => void server.close());
  return { port: (server.address() as AddressInfo).port, received: () => text };
}

interface Peer {
  readonly socket: Socket;
  got(): string;
  error(): string | undefined;
}

async function client(proxy: TcpProxy): Promise<Peer> {
  const socket = connect(proxy.port, proxy.host);
  let text = '';
  let failure: string | undefined;
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failure = error.code;
  });
  afterThisTest(() => void socket.destroy());
  await once(socket, 'connect');
  return { socket, got: () => text, error: () => failure };
}

describe('the fault proxy', () => {
  it('forwards both ways, half-closed connections included', async () => {
    const proxy = await startTcpProxy(await echo());
    const peer = await client(proxy);
    peer.socket.end('hello ');
    await eventually(() => peer.got() === 'hello bye');
    await eventually(() => proxy.connections === 0, { what: 'the end of the pair' });
  });

  it('cuts what is open and accepts what comes', async () => {
    const proxy = await startTcpProxy(await echo());
    const peer = await client(proxy);
    peer.socket.write('a');
    await eventually(() => peer.got() === 'a');
    proxy.cut();
    await eventually(() => peer.error() === 'ECONNRESET');
    const next = await client(proxy);
    next.socket.write('b');
    await eventually(() => next.got() === 'b');
  });

  it('holds everything back while stalled, and lets it flow when healed', async () => {
    const server = await echo();
    const proxy = await startTcpProxy(server);
    const old = await client(proxy);
    old.socket.write('1');
    await eventually(() => old.got() === '1');
    proxy.stall();
    const young = await client(proxy);
    old.socket.write('2');
    young.socket.write('3');
    // A third connection around the proxy shows that time has passed at the server.
    await proof(server.port);
    expect(server.received()).not.toMatch(/[23]/);
    await proxy.heal();
    await eventually(() => old.got() === '12' && young.got() === '3');
  });

  it('loses one direction only', async () => {
    const server = await echo();
    const proxy = await startTcpProxy(server);
    const peer = await client(proxy);
    proxy.lose('toClient');
    peer.socket.write('x');
    await eventually(() => server.received() === 'x');
    await proxy.heal();
    peer.socket.write('y');
    await eventually(() => peer.got() === 'y');
  });

  it('cuts after exactly the bytes asked for', async () => {
    const server = await echo();
    const proxy = await startTcpProxy(server);
    const peer = await client(proxy);
    proxy.cutAfter(3, 'toServer');
    peer.socket.write('abcdef');
    await eventually(() => peer.error() === 'ECONNRESET');
    await eventually(() => server.received() === 'abc');
  });

  it('refuses new connections and leaves open ones alone', async () => {
    const proxy = await startTcpProxy(await echo());
    const peer = await client(proxy);
    await proxy.refuse();
    await expect(client(proxy)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    peer.socket.write('still');
    await eventually(() => peer.got() === 'still');
    await proxy.heal();
    await client(proxy);
  });

  it('delays, in order', async () => {
    const proxy = await startTcpProxy(await echo());
    const peer = await client(proxy);
    proxy.latency(30);
    const began = performance.now();
    for (const letter of ['a', 'b', 'c']) peer.socket.write(letter);
    await eventually(() => peer.got() === 'abc', { everyMs: 1 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(58);
  });

  it('stands between a client and PostgreSQL', async () => {
    const database = await createDatabase({ template: false });
    const proxy = await startTcpProxy({ port: Number(new URL(inject('pgUrl')).port) });
    const rows = await withClient(proxy.through(database.url), async (c) => (await c.query('select 1 as one')).rows);
    expect(rows).toEqual([{ one: 1 }]);
    expect(proxy.accepted).toBe(1);
  });
});

async function proof(port: number): Promise<void> {
  const direct = connect(port, '127.0.0.1');
  direct.write('.');
  await once(direct, 'data');
  direct.destroy();
}
