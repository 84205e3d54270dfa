/*
 * order-triage as a process: a webhook of the shop, `POST /orders`. It answers 200 when the decision is committed. Whoever
 * gets another answer, or none, sends the order again.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { isComandaError } from 'comanda';
import pg from 'pg';
import { endWithParent, ready, setting } from '../part.js';
import type { Order } from './orders.js';
import { takeBack } from './triage.js';

const pool = new pg.Pool({ connectionString: setting('DATABASE_URL'), max: 8 });
pool.on('error', (error) => console.error(error.message)); // an idle connection broke; the pool makes a new one

const server = createServer((req, res) => {
  const answer = (status: number, body: unknown): void => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  handle(req).then(
    ({ runId, created }) => answer(200, { decision: runId, created }),
    (error: unknown) => {
      console.error(error);
      answer(isComandaError(error) && error.retryable ? 503 : 500, { error: String(error) });
    },
  );
});

async function handle(req: IncomingMessage): ReturnType<typeof takeBack> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return await takeBack(pool, JSON.parse(Buffer.concat(chunks).toString('utf8')) as Order);
}

endWithParent();
process.once('SIGTERM', () => process.exit(0)); // nothing is lost: what was not answered comes again
server.listen(Number(setting('PORT')), '127.0.0.1', () => {
  const address = server.address();
  ready({ port: typeof address === 'object' ? address?.port : 0 });
});
