import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type LoopbackProxy, listenOn } from './proxy.js';
import { untilTaken } from './taken.js';
import type { Tap, Victim } from './tap.js';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Stands between a process and a provider; each request with its answer is one exchange. A connection that the provider breaks is broken for the process too. */
export function startHttpProxy(
  target: { readonly host: string; readonly port: number },
  tap: Tap,
  victim: Victim,
): Promise<LoopbackProxy> {
  const agent = new Agent({ keepAlive: false });
  const open = new Set<Socket>();
  const server = createServer((req, res) => {
    const close = (): void => void req.socket.destroy();
    carry(req, res).catch(close);
  });
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });

  const carry = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const body = await collected(req);
    const exchange = tap.exchange(victim, `${req.method} ${placeOf(req.url ?? '/')}`);
    if (!(await exchange.before())) return void req.socket.destroy();
    const answer = await asked(req, body).catch(() => 'broken' as const);
    if (!(await exchange.sent(answer === 'broken' ? answer : String(answer.status)))) return void req.socket.destroy();
    if (answer === 'broken') req.socket.resetAndDestroy();
    else {
      const { 'transfer-encoding': _chunked, connection: _connection, ...headers } = answer.headers;
      res.writeHead(answer.status, { ...headers, 'content-length': answer.body.length });
      res.end(answer.body);
    }
    await exchange.answered(() => untilTaken(req.socket));
  };

  const asked = (req: IncomingMessage, body: Buffer): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const { connection: _connection, 'transfer-encoding': _chunked, ...headers } = req.headers;
      const on = request({
        ...target,
        agent,
        method: req.method,
        path: req.url,
        headers: { ...headers, 'content-length': body.length },
      });
      on.on('error', reject);
      on.on('response', (answer) => {
        collected(answer).then(
          (content) => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: content }),
          reject,
        );
      });
      on.end(body);
    });

  return listenOn(server, open);
}

/** The path without what is different in each run. */
function placeOf(url: string): string {
  const [, , ...parts] = new URL(url, 'http://provider').pathname.split('/');
  return `/${parts[0] ?? ''}`;
}

async function collected(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
