import { type Decided, decide, decideStandalone, isComandaError } from 'comanda';
import { inPgTransaction, pgStandalone, pgTransaction } from 'comanda/adapters/pg';
import type pg from 'pg';

// #region in-transaction
export function refundOrder(pool: pg.Pool, order: string): Promise<Decided> {
  return inPgTransaction(pool, async (tx, client) => {
    const { rows } = await client.query(
      `update orders set status = 'refunded' where id = $1 returning total, currency`,
      [order],
    );
    const [{ total, currency }] = rows;
    return await decide(tx, {
      key: `refund:${order}`,
      subject: `order:${order}`,
      actor: { type: 'system', id: 'order-triage' },
      effects: [{ kind: 'issue_refund', payload: { order, amount: total, currency } }],
    });
  });
}
// #endregion

// #region own-transaction
export async function noteOnOrder(client: pg.ClientBase, order: string, text: string): Promise<Decided> {
  await client.query('begin');
  try {
    await client.query('update orders set note = $2 where id = $1', [order, text]);
    const decided = await decide(pgTransaction(client), {
      key: `note:${order}:${text.length}`,
      subject: `order:${order}`,
      effects: [{ kind: 'crm_note', payload: { order, text } }],
    });
    await client.query('commit');
    return decided;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
// #endregion

// #region standalone
export function noteOnly(pool: pg.Pool, order: string): Promise<Decided> {
  return decideStandalone(pgStandalone(pool), {
    key: `reminder:${order}`,
    subject: `order:${order}`,
    effects: [{ kind: 'crm_note', payload: { order, text: 'Call back.' } }],
  });
}
// #endregion

// #region errors
/** Runs a whole transaction again when the database asks for it; the same keys give the same decisions. */
export async function withRetries<T>(work: () => Promise<T>, attempts = 5): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isComandaError(error, 'COMANDA_RETRYABLE') || attempt === attempts) throw error;
    }
  }
}

/** What a webhook answers: a repeated delivery is success, a conflict is for a person. */
export async function answerFor(deciding: Promise<Decided>): Promise<{ status: number; text: string }> {
  try {
    const { created, runId } = await deciding;
    return { status: 200, text: created ? `decided as ${runId}` : `was decided before, as ${runId}` };
  } catch (error) {
    if (isComandaError(error, 'COMANDA_KEY_CONFLICT')) return { status: 409, text: error.message };
    throw error;
  }
}
// #endregion
