import type { lookup } from 'node:dns';
import type { Agent, buildConnector } from 'undici';
import { type Clock, systemClock } from '../../kernel/clock.js';
import { describeThrown } from '../../kernel/describe-thrown.js';
import { comandaError } from '../../kernel/errors.js';
import { CONNECT_TIMEOUT_MS, HTTP_RESPONSE_READ_MAX_BYTES } from '../../kernel/limits.js';
import { ADDRESS_REFUSED, addressGuard } from './addresses.js';
import { type Exchange, type ExchangeLimits, exchange } from './exchange.js';
import type { WireRequest } from './wire.js';

/** Settings of {@link httpTransport}. */
export interface HttpTransportOptions {
  /** Connections per origin (scheme, host and port). Requests beyond it wait their turn, within their timeout. Default: 128. */
  readonly connections?: number;
  /** Bytes of an answer that are read; then the connection is dropped. Default: 1 MiB. */
  readonly maxResponseBytes?: number;
  /**
   * Private addresses (loopback, private networks, link-local with the cloud's metadata service, …) to which requests may go:
   * host names, addresses, networks such as `10.0.0.0/8`, or `true` for all. Default: none, so that a URL made from data
   * cannot reach into the network. Names are judged by the address they resolve to, at each connection.
   */
  readonly allowPrivateAddresses?: true | readonly string[];
  /** Own certificate authorities, and a client certificate for mutual TLS; PEM. Certificates are always verified. */
  readonly tls?: {
    readonly ca?: string | readonly string[];
    readonly cert?: string;
    readonly key?: string;
    readonly passphrase?: string;
  };
  /** Resolves names instead of `dns.lookup`. What it answers is judged like any other address. */
  readonly lookup?: typeof lookup;
  /** Replaces the host's clock in tests. */
  readonly clock?: Clock;
}

/** Sends HTTP requests. Connects when first used, keeps connections for reuse. */
export interface HttpTransport {
  /** Why a URL's host is refused without connecting, or `undefined`. */
  refusal(hostname: string): string | undefined;
  /** Sends one request. Never rejects. */
  exchange(request: WireRequest, options: TransportLimits): Promise<Exchange>;
  /** Waits for requests under way, which their timeouts bound, then ends every connection. Idle ones never keep a process alive. */
  close(): Promise<void>;
  readonly clock: Clock;
}

/** Bounds of one request. */
export interface TransportLimits extends Omit<ExchangeLimits, 'clock' | 'maxResponseBytes'> {
  /** A connection of its own, used once. */
  readonly fresh: boolean;
}

interface Agents {
  readonly kept: Agent;
  readonly fresh: Agent;
}

/**
 * Makes a transport on undici, which must be installed next to this package. Share one between kinds, and close it after
 * the relay has stopped.
 */
export function httpTransport(options: HttpTransportOptions = {}): HttpTransport {
  const clock = options.clock ?? systemClock;
  const guard = addressGuard(options.allowPrivateAddresses ?? [], options.lookup);
  const maxResponseBytes = options.maxResponseBytes ?? HTTP_RESPONSE_READ_MAX_BYTES;
  const underWay = new Set<Promise<unknown>>();
  const connecting = new Set<AbortController>();
  let agents: Promise<Agents> | undefined;
  let closed = false;

  const start = async (): Promise<Agents> => {
    const { Agent: UndiciAgent, buildConnector } = await loadUndici();
    const shared = {
      connections: options.connections ?? 128,
      allowH2: false,
      // The total timeout covers both; two more timers per request would only cost.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connector(buildConnector, connecting, {
        ...tlsOptions(options.tls),
        lookup: guard.lookup,
        timeout: CONNECT_TIMEOUT_MS,
        allowH2: false,
      }),
    };
    // Pipelining 0 means: one request per connection.
    return {
      kept: new UndiciAgent({ ...shared, pipelining: 1 }),
      fresh: new UndiciAgent({ ...shared, pipelining: 0 }),
    };
  };

  const send = async (request: WireRequest, { fresh, ...limits }: TransportLimits): Promise<Exchange> => {
    let agent: Agent;
    try {
      agents ??= start();
      ({ [fresh ? 'fresh' : 'kept']: agent } = await agents);
    } catch (error) {
      agents = undefined;
      return { kind: 'unusable', ...describeThrown(error) };
    }
    return await exchange(agent, request, { ...limits, maxResponseBytes, clock });
  };

  return {
    clock,
    refusal: guard.refusal,
    async exchange(request, limits) {
      const refusal = guard.refusal(request.hostname);
      if (refusal !== undefined) return { kind: 'addressRefused', errorClass: ADDRESS_REFUSED, errorText: refusal };
      if (closed) return { kind: 'unusable', errorClass: 'closed', errorText: 'the HTTP transport is closed' };
      const sending = send(request, limits);
      underWay.add(sending);
      return await sending.finally(() => underWay.delete(sending));
    },
    async close() {
      closed = true;
      await Promise.all(underWay);
      const open = await agents?.catch(() => undefined);
      for (const one of connecting) one.abort();
      await Promise.all([open?.kept.destroy(), open?.fresh.destroy()]);
    },
  };
}

/**
 * Connects as undici does, and keeps a way to end connections that are still being made, which the agent's own destroy() does not reach.
 * Each has a signal of its own: a socket never lets go of the one that it was given, so that with a common one none would ever be freed.
 */
function connector(
  build: typeof buildConnector,
  connecting: Set<AbortController>,
  options: buildConnector.BuildOptions & { readonly lookup: ReturnType<typeof addressGuard>['lookup'] },
): buildConnector.connector {
  return (to, callback) => {
    const one = new AbortController();
    connecting.add(one);
    const withSignal = { ...options, signal: one.signal };
    build(withSignal)(to, (...result) => {
      connecting.delete(one);
      callback(...result);
    });
  };
}

function tlsOptions(tls: HttpTransportOptions['tls']): Record<string, string | string[]> {
  const { ca, ...own } = tls ?? {};
  return ca === undefined ? own : { ...own, ca: typeof ca === 'string' ? ca : [...ca] };
}

async function loadUndici(): Promise<typeof import('undici')> {
  try {
    return await import('undici');
  } catch (cause) {
    const problem = 'HTTP effects need the package undici next to comanda: npm install undici@7';
    throw comandaError('COMANDA_INVALID_CONFIG', { problem }, { cause });
  }
}
