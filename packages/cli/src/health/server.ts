import { createServer, type ServerResponse } from 'node:http';
import type { RelayStatus } from 'comanda/relay';
import { badConfig } from '../failure.js';
import { isAlive, judge } from './judge.js';
import { METRICS_TYPE, metricsText } from './metrics.js';
import type { GaugeReader } from './read-gauges.js';

/** Where the health of a relay is told. */
export interface HealthOptions {
  readonly host: string;
  readonly port: number;
}

/** What is told. */
export interface HealthSource {
  readonly status: () => RelayStatus;
  readonly gauges: GaugeReader;
  /** How often the relay looks when nothing wakes it. */
  readonly pollMs: number;
}

/** A health port that is open. */
export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const REQUEST_TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 64;
const DUE_MAX_AGE_MS = 15_000;
const DUE_WITHIN_MS = 300;
const METRICS_MAX_AGE_MS = 2_000;
const METRICS_WITHIN_MS = 5_000;

/**
 * Opens the port. It takes GET and HEAD of four paths and nothing else, reads no body, and keeps no connection.
 *
 * @throws CliError when the port cannot be opened
 */
export async function openHealthServer({ host, port }: HealthOptions, source: HealthSource): Promise<HealthServer> {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS, maxHeaderSize: 8_192, keepAlive: false },
    (request, response) => {
      request.resume();
      const head = request.method === 'HEAD';
      if (request.method !== 'GET' && !head) {
        response.setHeader('allow', 'GET, HEAD');
        return send(response, 405, TEXT_TYPE, 'GET and HEAD only\n', head);
      }
      void answer(source, (request.url ?? '').split('?')[0] ?? '')
        .catch((): Answer => [500, TEXT_TYPE, 'unexpected\n'])
        .then(([status, type, body]) => send(response, status, type, body, head));
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.on('clientError', (_, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotOpen(error, host, port)));
    server.listen(port, host, resolve);
  });
  server.on('error', () => {});
  // The port alone keeps no process alive.
  server.unref();
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Answer = readonly [status: number, type: string, body: string];

async function answer({ status, gauges, pollMs }: HealthSource, path: string): Promise<Answer> {
  if (path === '/live') return isAlive(status()) ? [200, TEXT_TYPE, 'alive\n'] : [503, TEXT_TYPE, 'stopped\n'];
  if (path === '/ready' || path === '/health') {
    const known = await gauges.read(DUE_MAX_AGE_MS, DUE_WITHIN_MS);
    const labels = (wanted: string) => known?.filter(({ name }) => name === wanted).map(({ label }) => label) ?? [];
    const without = new Set(labels('lanes_without_relay'));
    const mine = labels('lanes_due').some((kind) => !without.has(kind));
    const oldest = known?.find(({ name }) => name === 'oldest_due_age_ms')?.value ?? null;
    const due = mine || oldest === null ? oldest : 0;
    const health = judge(status(), pollMs, due === null ? null : Math.round(due));
    return [health.ok ? 200 : 503, JSON_TYPE, `${JSON.stringify(health)}\n`];
  }
  if (path === '/metrics') {
    const known = await gauges.read(METRICS_MAX_AGE_MS, METRICS_WITHIN_MS);
    if (known === undefined) return [503, TEXT_TYPE, 'the gauges could not be read\n'];
    return [200, METRICS_TYPE, metricsText(known)];
  }
  return [404, TEXT_TYPE, 'there are /live, /ready, /health and /metrics\n'];
}

function send(response: ServerResponse, status: number, type: string, body: string, head: boolean): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    connection: 'close',
    'x-content-type-options': 'nosniff',
  });
  response.end(head ? undefined : body);
}

function cannotOpen(error: Error, host: string, port: number): Error {
  const code = 'code' in error ? String(error.code) : '';
  const why =
    code === 'EADDRINUSE'
      ? 'it is in use by another process'
      : code === 'EACCES'
        ? 'this user may not open it'
        : code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND'
          ? `${host} is no address of this machine`
          : error.message;
  return badConfig(
    `The health port ${port} on ${host} cannot be opened: ${why}. Choose another with --health-port or --health-host; nothing was executed.`,
    error,
  );
}
