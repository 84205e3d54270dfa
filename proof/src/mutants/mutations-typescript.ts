import type { Mutation } from './mutation.js';

const RELAY = 'packages/comanda/src/relay';
const TESTS = 'packages/comanda/test/relay';

/** Rules that the relay keeps. */
export const OF_TYPESCRIPT: readonly Mutation[] = [
  {
    name: 'batch-of-none',
    about: 'several effects of a kind without idempotency in one claim',
    edits: [
      {
        file: `${RELAY}/targets.ts`,
        old: `batch: kind.idempotency === 'key' ? env.batch : 1 };`,
        new: 'batch: env.batch };',
      },
    ],
    tests: [
      {
        file: `${TESTS}/uncertain.test.ts`,
        title: 'what must not be repeated is claimed one at a time, what its key protects is not',
      },
    ],
  },
  {
    name: 'unknown-is-retry',
    about: 'an unknown outcome is tried again',
    edits: [
      {
        file: `${RELAY}/outcome-settlement.ts`,
        old: `if (outcome.outcome === 'unknown') return { settlement: { ...unknownHead(lane, settledMs), head } };`,
        new: `if (outcome.outcome === 'unknown') return { settlement: { mode: 'retry', delayMs: 0, head: { ...head, outcome: 'retry' } } };`,
      },
    ],
    tests: [
      {
        file: `${TESTS}/uncertain.test.ts`,
        title: 'H07 B: not idempotent, accepted without an answer: looked up, completed, sent once',
      },
    ],
  },
  {
    name: 'lease-by-host-clock',
    about: "claim judges and writes leases by the clock of the relay's host",
    edits: [
      {
        file: 'packages/comanda/sql/functions/22_claim.sql',
        old: `not q.off and l.kind = q.kind and l.ready_at <= now()`,
        new: `not q.off and l.kind = q.kind and l.ready_at <= to_timestamp((request ->> 'nowMs')::float8 / 1000)`,
      },
      {
        file: 'packages/comanda/sql/functions/22_claim.sql',
        old: 'update comanda.lane x set ready_at = now() + lease,',
        new: `update comanda.lane x set ready_at = to_timestamp((request ->> 'nowMs')::float8 / 1000) + lease,`,
      },
      {
        file: `${RELAY}/claims.ts`,
        old: 'await env.engine.claim({ relay: env.id, leaseMs: env.leaseMs, kinds: free });',
        new: 'await env.engine.claim(Object.assign({ relay: env.id, leaseMs: env.leaseMs, kinds: free }, { nowMs: env.clock.wallMs() }));',
      },
    ],
    tests: [
      { file: `${TESTS}/lease.test.ts`, title: 'T01: relays judge leases by the database clock, not by their own' },
    ],
  },
  {
    name: 'claim-committed-after-sending',
    about: 'one transaction from the claim to the settlement, with the sends in the middle',
    edits: [
      {
        file: 'packages/comanda/src/adapters/pg/index.ts',
        old: `  return {
    query: (text, params, withinMs) =>
      rows(pool, withinMs === undefined ? text : { text, query_timeout: withinMs }, params),
  };
`,
        new: `  let held: PgPoolClientLike | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const one = async <Row>(text: string, params: readonly unknown[]): Promise<readonly Row[]> => {
    if (held === undefined && !/\\.(claim|route)\\(/.test(text)) return await rows<Row>(pool, text, params);
    if (held !== undefined && !/\\.(claim|route|payloads|may_send|settle|renew)\\(/.test(text)) return await rows<Row>(pool, text, params);
    const opened = held === undefined;
    held ??= await (pool as unknown as PgPoolLike<PgPoolClientLike>).connect();
    const client = held;
    if (opened) await client.query('begin', []);
    const found = await rows<Row>(client, text, params);
    if (/\\.settle\\(/.test(text) || (opened && found.length === 0)) {
      held = undefined;
      await client.query('commit', []);
      client.release();
    }
    return found;
  };
  return {
    query: <Row>(text: string, params: readonly unknown[]): Promise<readonly Row[]> => {
      if (!/\\.(claim|route|payloads|may_send|settle|renew)\\(/.test(text)) return rows<Row>(pool, text, params);
      const mine = turn.then(() => one<Row>(text, params));
      turn = mine.catch(() => undefined);
      return mine;
    },
  };
`,
      },
    ],
    tests: [
      {
        file: `${TESTS}/lease.test.ts`,
        title: 'owner, fence and start row are on record, for everybody, before anything leaves',
      },
    ],
  },
  {
    name: 'no-start-row',
    about: 'a kind without idempotency is sent before its start row is written',
    edits: [
      {
        file: `${RELAY}/effect-step.ts`,
        old: `mark: idempotency === 'none',`,
        new: `mark: idempotency === 'none' && false,`,
      },
    ],
    tests: [
      {
        file: `${TESTS}/lease.test.ts`,
        title: 'owner, fence and start row are on record, for everybody, before anything leaves',
      },
    ],
  },
];
