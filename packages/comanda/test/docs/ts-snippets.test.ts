import { createDatabase, eventually, startGateway, startMail, type TestDatabase } from '@comanda/test-support';
import postgres from 'postgres';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { createRelay } from '../../src/relay/index.js';
import { createRegistry } from '../../src/relay/registry.js';
import { hostileSmtp } from '../integration/smtp/hostile-smtp.js';
import { withOrm } from './orms.js';

/** A database with the shop's own table. */
async function shop(): Promise<TestDatabase> {
  const database = await createDatabase();
  const client = await database.connect();
  await client.query(
    `create table orders (id text primary key, status text not null, note text, total numeric, currency text);
     insert into orders (id, status, total, currency) select 'ORD-' || n, 'paid', 2154.00, 'MXN' from generate_series(2041, 2045) n`,
  );
  return database;
}

async function outbox(database: TestDatabase): Promise<Record<string, unknown>[]> {
  const client = await database.connect();
  const { rows } = await client.query(
    'select aggregate_id, idempotency_key, status, payload from comanda.outbox order by id',
  );
  return rows;
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules(); // snippets read their settings when they are loaded
});

describe('TypeScript of the manual runs', () => {
  it('readme.ts', async () => {
    const database = await shop();
    const gateway = await startGateway();
    vi.stubEnv('DATABASE_URL', database.url);
    vi.stubEnv('PAYMENTS_URL', gateway.url);
    const handlers = process.listeners('SIGTERM');
    const { pool, refundOrder, relay } = await import('../../../../docs/snippets/readme.js');
    try {
      expect(await refundOrder('ORD-2041', '2154.00')).toMatchObject({ created: true, key: 'refund:ORD-2041' });
      expect(await refundOrder('ORD-2041', '2154.00')).toMatchObject({ created: false });
      const [entry] = await eventually(() => {
        const accepted = gateway.entries('accepted');
        return accepted.length > 0 && accepted;
      });
      expect(entry).toMatchObject({ path: '/refunds', body: '{"order": "ORD-2041", "amount": 2154.00}' });
      await eventually(async () => (await outbox(database))[0]?.['status'] === 'done');
      expect((await pool.query(`select status from orders where id = 'ORD-2041'`)).rows).toEqual([
        { status: 'refunded' },
      ]);
    } finally {
      await relay.stop();
      await pool.end();
      for (const added of process.listeners('SIGTERM').filter((handler) => !handlers.includes(handler)))
        process.off('SIGTERM', added);
    }
    expect(gateway.entries('accepted')).toHaveLength(1);
  });

  it('use-with-pg.ts', async () => {
    const database = await shop();
    const pool = database.pool();
    const use = await import('../../../../docs/snippets/use-with-pg.js');
    expect(await use.answerFor(use.refundOrder(pool, 'ORD-2041'))).toMatchObject({
      status: 200,
      text: /^decided as \d+$/,
    });
    expect(await use.answerFor(use.refundOrder(pool, 'ORD-2041'))).toMatchObject({ text: /^was decided before/ });
    await pool.query(`update orders set total = 1 where id = 'ORD-2041'`);
    expect(await use.answerFor(use.refundOrder(pool, 'ORD-2041'))).toMatchObject({ status: 409 });
    const client = await database.connect();
    await use.noteOnOrder(client, 'ORD-2042', 'rings twice');
    await use.noteOnly(pool, 'ORD-2043');
    expect((await outbox(database)).map((row) => row['aggregate_id'])).toEqual(['ORD-2041', 'ORD-2042', 'ORD-2043']);
    let runs = 0;
    await use.withRetries(async () => {
      runs += 1;
      if (runs === 1) throw Object.assign(new Error('again'), { name: 'ComandaError', code: 'COMANDA_RETRYABLE' });
    });
    expect(runs).toBe(2);
  });

  it('use-with-postgres-js.ts', async () => {
    const database = await shop();
    const sql = postgres(database.url, { max: 2, onnotice: () => {} });
    const use = await import('../../../../docs/snippets/use-with-postgres-js.js');
    expect(await use.refundOrder(sql, 'ORD-2041')).toMatchObject({ created: true });
    expect(await use.noteOnly(sql, 'ORD-2042')).toMatchObject({ created: true });
    await sql.end();
    expect((await outbox(database)).map((row) => row['idempotency_key'])).toEqual([
      'refund:ORD-2041/issue_refund',
      'reminder:ORD-2042/crm_note',
    ]);
  });

  it.each(['kysely', 'drizzle', 'knex', 'typeorm', 'mikro-orm'] as const)('use-with-%s.ts', async (name) => {
    const database = await shop();
    const { use, close } = await withOrm(name, database);
    expect(await use.refundOrder('ORD-2041')).toMatchObject({ created: true });
    expect(await use.refundOrder('ORD-2041')).toMatchObject({ created: false });
    expect(await use.noteOnly('ORD-2042')).toMatchObject({ created: true });
    await close();
    expect((await outbox(database)).map((row) => row['idempotency_key'])).toEqual([
      'refund:ORD-2041/issue_refund',
      'reminder:ORD-2042/crm_note',
    ]);
    const client = await database.connect();
    expect((await client.query(`select status from orders where id = 'ORD-2041'`)).rows).toEqual([
      { status: 'refunded' },
    ]);
  });

  it('http-effects.ts and run-relays.ts', async () => {
    const database = await shop();
    const [gateway, mailer] = await Promise.all([startGateway(), startMail()]);
    vi.stubEnv('PAYMENTS_URL', gateway.url);
    vi.stubEnv('PAYMENTS_TOKEN', 'secret');
    vi.stubEnv('MAIL_URL', mailer.url);
    const effects = await import('../../../../docs/snippets/http-effects.js');
    expect(() => createRegistry([effects.profile, effects.invoice], 30_000)).not.toThrow();
    const { makeRelay } = await import('../../../../docs/snippets/run-relays.js');
    const client = await database.connect();
    const decision = {
      key: 'k',
      effects: [effects.refund({ amount: 1 }), effects.mail({ reference: 'm-1', to: 'ana@example.com' })],
    };
    await client.query('select comanda.decide($1::text::jsonb)', [JSON.stringify(decision)]);
    const relay = makeRelay(database.pool(), database.url);
    await relay.drain();
    await effects.inside.close();
    expect(gateway.entries('accepted')).toMatchObject([{ path: '/refunds', key: 'k/issue_refund' }]);
    expect(mailer.entries('accepted')).toHaveLength(1);
    expect((await outbox(database)).map((row) => row['status'])).toEqual(['done', 'done']);
  });

  it('send-mail.ts', async () => {
    const database = await shop();
    const mailbox = await hostileSmtp();
    vi.stubEnv('SMTP_HOST', '127.0.0.1');
    vi.stubEnv('SMTP_PORT', String(mailbox.port));
    const { refundMail, receiptMail } = await import('../../../../docs/snippets/send-mail.js');
    const client = await database.connect();
    const input = { order: 'ORD-2041', to: 'ana@example.com', amount: 'MXN 2,154.00' };
    await client.query('select comanda.decide($1::text::jsonb)', [
      JSON.stringify({ key: 'k', effects: [refundMail(input)] }),
    ]);
    const relay = createRelay({ database: pgStandalone(database.pool()), effects: [refundMail, receiptMail] });
    await relay.drain();
    expect(mailbox.messages).toEqual([expect.stringContaining('Refund for ORD-2041')]);
    expect((await outbox(database)).map((row) => row['status'])).toEqual(['done']);
  });

  it('inventory-effects.ts', async () => {
    const database = await shop();
    const { takeFromStock } = await import('../../../../docs/snippets/inventory-effects.js');
    const lines = [
      { sku: 'CF-ARA-500', quantity: 12 },
      { sku: 'TE-CHM-100', quantity: 6 },
      { sku: 'CF-DEC-250', quantity: 4 },
    ];
    await takeFromStock(database.pool(), 'ORD-2041', lines);
    expect((await takeFromStock(database.pool(), 'ORD-2041', lines)).created).toBe(false);
    expect(await outbox(database)).toEqual(
      lines.map(({ sku, quantity }) => ({
        aggregate_id: 'ORD-2041',
        idempotency_key: `inventory:ORD-2041:${sku}`,
        status: 'pending',
        payload: { sku, quantity },
      })),
    );
  });
});
