import { type Decision, decide, type EffectIntent, isComandaError } from 'comanda';
import { inPgTransaction } from 'comanda/adapters/pg';
import type pg from 'pg';
import { oneOf, type Random } from '../random.js';
import type { Diary } from './diary.js';

export interface Caller {
  readonly name: string;
  readonly pool: pg.Pool;
  readonly random: Random;
  note(line: Diary): void;
}

/** The caller's own tables: what it has decided, and how many effects each lane has got. */
export const CALLER_SCHEMA = `
create schema soak;
create table soak.decision (key text primary key);
create table soak.lane (lane text primary key, n bigint not null default 0);
`;

const LANES = 24;
const RECENT = 200;
class RolledBack extends Error {}

/** Makes the next thing that the caller does, each time another. It never fails: what went wrong is in the diary. */
export function nextAct(caller: Caller): () => Promise<void> {
  const { random } = caller;
  const recent: Decision[] = [];
  const delayed: string[] = [];
  let count = 0;

  const fresh = async (): Promise<void> => {
    count += 1;
    const key = `${caller.name}-${count}`;
    const intents = intentsOf(caller, key);
    const rollBack = random() < 0.08;
    const decision = await committed(caller, key, intents, rollBack);
    if (decision === undefined || rollBack) return;
    recent.push(decision);
    if (recent.length > RECENT) recent.shift();
    if (intents.every(({ delayMs, cancelWindowMs }) => (delayMs ?? cancelWindowMs ?? 0) > 0)) delayed.push(key);
  };
  const repeat = (decision: Decision): Promise<void> => repeated(caller, decision);
  return async () => {
    const fate = random();
    const known = recent.length > 0 ? oneOf(random, recent) : undefined;
    if (fate < 0.1 && known !== undefined) return await repeat(known);
    // Webhooks come twice, also at the same moment.
    if (fate < 0.13 && known !== undefined) return void (await Promise.all([repeat(known), repeat(known)]));
    if (fate < 0.17 && known !== undefined) return await contradict(caller, known);
    const key = fate < 0.23 ? delayed.shift() : undefined;
    if (key !== undefined) return await cancel(caller, key);
    await fresh();
  };
}

interface Intent extends EffectIntent {
  /** Numbered within the lane, under its row's lock: the order of commits. */
  readonly laned: boolean;
}

function intentsOf({ random }: Caller, key: string): readonly Intent[] {
  const reference = (name: string): string => `${key}:${name}`;
  const lane = (prefix: string): string => `${prefix}${Math.floor(random() * LANES)}`;
  const one = (kind: string, laned: string | undefined, more: Partial<EffectIntent> = {}): Intent => ({
    kind,
    key: reference(kind),
    laned: laned !== undefined,
    ...(laned === undefined ? {} : { orderingKey: laned }),
    payload: { reference: reference(kind), to: 'soak@example.test', ...(laned === undefined ? {} : { lane: laned }) },
    ...more,
  });
  const shape = random();
  if (shape < 0.12) return [one('refund', undefined, { cancelWindowMs: 500 + Math.floor(random() * 4_000) })];
  if (shape < 0.24) return [one('mail', undefined, { delayMs: 500 + Math.floor(random() * 4_000) })];
  return [
    one('refund', undefined),
    one('movement', lane('sku-')),
    ...(shape < 0.6 ? [one('shelf', lane('shelf-'))] : []),
    ...(shape > 0.4 ? [one('mail', shape > 0.8 ? lane('customer-') : undefined)] : []),
    ...(shape > 0.7 ? [one('letter', undefined)] : []),
  ];
}

/** Decides in one transaction with the caller's own rows, again and again until it is certain; `undefined` when it is not. */
async function committed(
  caller: Caller,
  key: string,
  intents: readonly Intent[],
  rollBack: boolean,
): Promise<Decision | undefined> {
  let decision: Decision | undefined;
  for (let attempt = 0; attempt < 20; attempt += 1) {
    try {
      await inPgTransaction(caller.pool, async (tx, client) => {
        const mine = await client.query('insert into soak.decision (key) values ($1) on conflict do nothing', [key]);
        if (mine.rowCount === 0) return; // an earlier try had come through
        decision = await numbered(client, key, intents);
        await decide(tx, decision);
        if (rollBack) throw new RolledBack();
      });
      caller.note({ event: 'decided', key });
      return decision;
    } catch (error) {
      if (error instanceof RolledBack) {
        caller.note({ event: 'rolledBack', key });
        return decision;
      }
      caller.note({ event: 'uncertain', key, error: String(error) });
      await new Promise((resolve) => void setTimeout(resolve, 300));
    }
  }
  return undefined;
}

/** Draws each laned effect its number. Lanes are locked in one order, so that callers never wait in a circle. */
async function numbered(client: pg.ClientBase, key: string, intents: readonly Intent[]): Promise<Decision> {
  const lanes = intents.flatMap(({ orderingKey }) => orderingKey ?? []).sort();
  const numbers = new Map<string, number>();
  for (const lane of lanes) {
    const { rows } = await client.query<{ n: string }>(
      'insert into soak.lane as l (lane, n) values ($1, 1) on conflict (lane) do update set n = l.n + 1 returning n',
      [lane],
    );
    numbers.set(lane, Number(rows[0]?.n));
  }
  const effects = intents.map(({ laned: _, ...intent }) => {
    const n = intent.orderingKey === undefined ? undefined : numbers.get(intent.orderingKey);
    return n === undefined ? intent : { ...intent, payload: { ...(intent.payload as object), n } };
  });
  return { key, subject: `soak:${key}`, actor: { type: 'system', id: 'soak' }, effects };
}

async function repeated(caller: Caller, decision: Decision): Promise<void> {
  const { key } = decision;
  try {
    const { created } = await inPgTransaction(caller.pool, (tx) => decide(tx, decision));
    if (created) caller.note({ event: 'wrong', key, what: 'a repeated decision was made once more' });
    else caller.note({ event: 'repeated', key });
  } catch (error) {
    if (isComandaError(error, 'COMANDA_KEY_CONFLICT'))
      caller.note({ event: 'wrong', key, what: 'the same decision was taken for another one' });
    else caller.note({ event: 'uncertain', key, error: String(error) });
  }
}

async function contradict(caller: Caller, decision: Decision): Promise<void> {
  const { key } = decision;
  const other = { ...decision, effects: [{ kind: 'refund', payload: { reference: `${key}:other` } }] };
  try {
    await inPgTransaction(caller.pool, (tx) => decide(tx, other));
    caller.note({ event: 'wrong', key, what: 'another decision was accepted under the same key' });
  } catch (error) {
    if (isComandaError(error, 'COMANDA_KEY_CONFLICT')) caller.note({ event: 'conflict', key });
    else caller.note({ event: 'uncertain', key, error: String(error) });
  }
}

async function cancel(caller: Caller, key: string): Promise<void> {
  try {
    const { rows } = await caller.pool.query<{ answer: string }>('select answer from comanda.cancel($1::text::jsonb)', [
      JSON.stringify({ key, by: caller.name, reason: 'the customer changed their mind' }),
    ]);
    const exact = rows.every(({ answer }) => answer === 'cancelled');
    caller.note({ event: exact ? 'cancelled' : 'cancelAsked', key });
  } catch (error) {
    caller.note({ event: 'uncertain', key, error: String(error) });
  }
}
