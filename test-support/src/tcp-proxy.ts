import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterThisTest } from './cleanup.js';

export type Direction = 'toServer' | 'toClient';

/** A loopback proxy that breaks connections on request, for PostgreSQL, HTTP or any protocol over TCP. */
export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  /** Open connections at this moment. */
  readonly connections: number;
  /** Connections ever accepted. */
  readonly accepted: number;
  /** Connections that `cutAfter` has reset so far. */
  readonly cutOff: number;
  /** Bytes that came in so far, from either side. */
  readonly bytes: Readonly<Record<Direction, number>>;
  /** `url` with host and port replaced by the proxy's. */
  through(url: string): string;
  /** New connections go to this port from now on; open ones stay where they are. */
  redirect(port: number): void;
  /** Resets all open connections now. New ones are accepted. */
  cut(): void;
  /** From now on no byte passes in either direction and nothing is closed, new connections included: a cable pulled out. */
  stall(): void;
  /** From now on what flows in this direction is read and lost: a request that arrives and an answer that does not, or the reverse. */
  lose(direction: Direction): void;
  /** From now on new connections are refused (ECONNREFUSED); open ones go on. */
  refuse(): Promise<void>;
  /** Resets a connection once `bytes` more have passed in this direction, on whichever connection that is; then works normally again. */
  cutAfter(bytes: number, direction?: Direction): void;
  /** Delays everything, in both directions, by `ms`. 0 ends it. */
  latency(ms: number): void;
  /** Ends `stall`, `lose`, `refuse`, `cutAfter` and `latency`. What a stall held back flows on; what was lost stays lost. */
  heal(): Promise<void>;
  /** Resets all connections and stops listening. Done by itself after the test. */
  close(): Promise<void>;
}

interface State {
  /** Set while the proxy is stalled; resolves when it is healed. */
  healed: Promise<void> | undefined;
  lost: Set<Direction>;
  cut: { direction: Direction; bytes: number } | undefined;
  latencyMs: number;
  readonly bytes: Record<Direction, number>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** Listens on a free loopback port and forwards to `host:port`. */
export async function startTcpProxy(target: { readonly host?: string; readonly port: number }): Promise<TcpProxy> {
  const state: State = {
    healed: undefined,
    lost: new Set(),
    cut: undefined,
    latencyMs: 0,
    bytes: { toServer: 0, toClient: 0 },
  };
  const pairs = new Set<Pair>();
  let accepted = 0;
  let cutOff = 0;
  let behind = target.port;
  let heal = () => {};
  const reset = ({ client, server }: Pair) => {
    client.resetAndDestroy();
    server.resetAndDestroy();
  };
  const resume = () => {
    for (const { client, server } of pairs) for (const socket of [client, server]) socket.resume();
  };
  const onClient = (client: Socket) => {
    accepted += 1;
    const server = connect({ host: target.host ?? '127.0.0.1', port: behind, allowHalfOpen: true });
    const pair = { client, server };
    pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => reset(pair));
      socket.on('close', () => {
        if (client.destroyed && server.destroyed) pairs.delete(pair);
      });
    }
    const cut = () => {
      cutOff += 1;
      reset(pair);
    };
    forward(client, server, 'toServer', state, cut);
    forward(server, client, 'toClient', state, cut);
  };
  const open = async (port: number): Promise<Server> => {
    const listener = createServer({ allowHalfOpen: true }, onClient);
    listener.listen(port, '127.0.0.1');
    await once(listener, 'listening');
    return listener;
  };
  let listener: Server | undefined = await open(0);
  const address = listener.address();
  const port = typeof address === 'object' && address ? address.port : 0;

  const stopListening = async () => {
    const old = listener;
    listener = undefined;
    // close() waits for open connections, which go on; the port is free as soon as it was called.
    old?.close();
  };
  const proxy: TcpProxy = {
    host: '127.0.0.1',
    port,
    get connections() {
      return pairs.size;
    },
    get accepted() {
      return accepted;
    },
    get cutOff() {
      return cutOff;
    },
    bytes: state.bytes,
    through(url) {
      const changed = new URL(url);
      changed.hostname = '127.0.0.1';
      changed.port = String(port);
      return changed.href;
    },
    redirect: (to) => {
      behind = to;
    },
    cut: () => pairs.forEach(reset),
    stall() {
      state.healed ??= new Promise((resolve) => {
        heal = resolve;
      });
      for (const { client, server } of pairs) for (const socket of [client, server]) socket.pause();
    },
    lose: (direction) => void state.lost.add(direction),
    refuse: stopListening,
    cutAfter(bytes, direction = 'toServer') {
      state.cut = { direction, bytes };
    },
    latency(ms) {
      state.latencyMs = ms;
    },
    async heal() {
      Object.assign(state, { healed: undefined, lost: new Set(), cut: undefined, latencyMs: 0 });
      heal();
      resume();
      listener ??= await open(port);
    },
    async close() {
      await stopListening();
      pairs.forEach(reset);
    },
  };
  afterThisTest(proxy.close);
  return proxy;
}

const QUEUE_LIMIT = 1_000_000;

function forward(from: Socket, to: Socket, direction: Direction, state: State, reset: () => void): void {
  let queue: Promise<void> = Promise.resolve();
  let queued = 0;
  const push = (chunk: Buffer, after: () => void) => {
    const due = performance.now() + state.latencyMs;
    queued += chunk.length;
    if (queued > QUEUE_LIMIT) from.pause();
    queue = queue.then(async () => {
      await until(due);
      await state.healed;
      await write(to, chunk);
      queued -= chunk.length;
      if (queued <= QUEUE_LIMIT && state.healed === undefined) from.resume();
      after();
    });
  };
  if (state.healed !== undefined) from.pause();
  from.on('data', (chunk: Buffer) => {
    state.bytes[direction] += chunk.length;
    if (state.lost.has(direction)) return;
    const { cut } = state;
    if (cut?.direction !== direction) {
      push(chunk, () => {});
      return;
    }
    const part = chunk.subarray(0, cut.bytes);
    cut.bytes -= part.length;
    if (cut.bytes === 0) state.cut = undefined;
    push(part, cut.bytes === 0 ? reset : () => {});
  });
  from.on('end', () => {
    if (!state.lost.has(direction)) queue = queue.then(() => void to.end());
  });
}

function write(to: Socket, chunk: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (to.destroyed || chunk.length === 0) resolve();
    else to.write(chunk, () => resolve());
  });
}

function until(due: number): Promise<void> | undefined {
  const ms = due - performance.now();
  return ms <= 0 ? undefined : new Promise((resolve) => void setTimeout(resolve, ms));
}
