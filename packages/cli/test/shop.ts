import { createDatabase, eventually, type TestDatabase } from '@comanda/test-support';
import { completed, type Decision, decideStandalone, defineEffect, failed, retry, unknown } from 'comanda';
import { pgStandalone } from 'comanda/adapters/pg';
import { createRelay } from 'comanda/relay';

/** What the payload of an effect asks its provider to do. */
interface Order {
  readonly mode?: 'dead' | 'flaky' | 'lost';
}

const quick = { maxAttempts: 4, baseDelay: 1, maxDelay: 5 };

const refund = defineEffect<Order, Order>({
  kind: 'issue_refund',
  target: 'payments',
  idempotency: 'key',
  retry: quick,
  perform: async ({ mode }, { attempt }) => {
    if (mode === 'dead') return failed({ status: 422, errorClass: 'http_422', errorText: 'already refunded' });
    if (mode === 'flaky' && attempt === 1) return retry({ notSent: false, status: 503, errorText: 'busy' });
    return completed({ status: 200, providerId: 're_1' });
  },
});
const mail = defineEffect<Order, Order>({
  kind: 'send_email',
  target: 'smtp',
  idempotency: 'none',
  onUnknown: 'ask-human',
  retry: quick,
  perform: async ({ mode }) =>
    mode === 'lost' ? unknown({ errorClass: 'timeout', errorText: 'no answer' }) : completed({ providerId: 'msg_1' }),
});
const note = defineEffect({ kind: 'crm_note', idempotency: 'natural', retry: quick, perform: async () => completed() });

const kinds = [refund, mail, note];

const ana = { type: 'human', id: 'ana' } as const;

/** One decision per situation that an operator can meet. */
const decisions: readonly Decision[] = [
  {
    key: 'refund:ORD-1',
    subject: 'order:ORD-1',
    actor: { type: 'agent', id: 'refund-bot', onBehalfOf: ana },
    reason: 'Sent back in time.',
    trigger: 'webhook:orders',
    model: 'model-x',
    effects: [
      refund({ mode: 'flaky' }, { orderingKey: 'order:ORD-1' }),
      note({}, { orderingKey: 'order:ORD-1' }),
      mail({ mode: 'lost' }),
    ],
  },
  {
    key: 'refund:ORD-2',
    subject: 'order:ORD-2',
    actor: ana,
    effects: [refund({ mode: 'dead' }, { orderingKey: 'order:ORD-2' }), note({}, { orderingKey: 'order:ORD-2' })],
  },
  { key: 'refund:ORD-3', subject: 'order:ORD-3', actor: ana, effects: [refund({ mode: 'dead' })] },
  { key: 'later:1', actor: ana, effects: [note({}, { delayMs: 3_600_000 })] },
  { key: 'sms:1', actor: ana, effects: [{ kind: 'send_sms', target: 'twilio' }] },
];

/** A database in which everything of {@link decisions} has gone as far as it goes by itself. No relay is left. */
export async function shop(more: readonly Decision[] = []): Promise<TestDatabase> {
  const database = await createDatabase();
  const pool = database.pool(8);
  const db = pgStandalone(pool);
  for (const decision of [...decisions, ...more]) await decideStandalone(db, decision);
  await work(database);
  return database;
}

/** Lets a relay do whatever can be done, retries included, until only what waits for a person or for another relay is left. */
export async function work(database: TestDatabase): Promise<void> {
  const pool = database.pool(8);
  const relay = createRelay({ database: pgStandalone(pool), effects: kinds, aiActions: 'enabled' });
  await relay.start();
  const known = kinds.map(({ definition }) => definition.kind);
  const left = `select from comanda.lane where parked_by is null and kind = any ($1)
    union all select from comanda.effect_arrival
    union all select from comanda.effect_request where answered_at is null`;
  await eventually(async () => (await pool.query(left, [known])).rowCount === 0, {
    what: 'the end of all work',
    withinMs: 20_000,
  });
  await relay.stop();
}
