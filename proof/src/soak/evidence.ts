import type { BookEntry } from '@comanda/test-support/providers';
import type { Pool } from 'pg';
import { type Diary, linesOf } from './diary.js';

/** An acceptance, from a provider's book. */
export interface Acceptance {
  readonly book: string;
  readonly n: number;
  readonly t: number;
  readonly body: string;
  readonly reference: string;
}

/** What the database says about one effect. */
export interface EffectLine {
  /** The idempotency key, which is also the reference in the payload. */
  readonly key: string;
  readonly kind: string;
  readonly decision: string;
  readonly state: string;
  readonly payload: string;
  readonly lane: string | null;
  /** Earliest moment, in milliseconds since 1970; `null` when it could start at once. */
  readonly dueAt: number | null;
  /** It was uncertain for a while whether it had happened. */
  readonly unknown: boolean;
  /** A person has said what became of it. */
  readonly resolved: boolean;
}

export interface Evidence {
  readonly acceptances: readonly Acceptance[];
  readonly calls: number;
  readonly replays: number;
  readonly effects: readonly EffectLine[];
  /** Keys of the ledger, and of the caller's own table. */
  readonly runs: readonly string[];
  readonly ownRows: readonly string[];
  readonly diary: readonly Diary[];
}

export interface EvidenceSources {
  readonly pool: Pool;
  readonly books: Readonly<Record<string, string>>;
  readonly diaries: readonly string[];
}

/** Everything that the judge wants to see, read when all is at rest. */
export async function readEvidence({ pool, books, diaries }: EvidenceSources): Promise<Evidence> {
  const acceptances: Acceptance[] = [];
  let calls = 0;
  let replays = 0;
  for (const [book, file] of Object.entries(books)) {
    for await (const { event, n, t, body } of linesOf<BookEntry>(file)) {
      if (event === 'received') calls += 1;
      if (event === 'replayed') replays += 1;
      if (event === 'accepted') acceptances.push({ book, n, t, body, reference: referenceOf(body) });
    }
  }
  const diary: Diary[] = [];
  for (const file of diaries) for await (const line of linesOf<Diary>(file)) diary.push(line);
  const keys = async (sql: string): Promise<readonly string[]> =>
    (await pool.query<{ key: string }>(sql)).rows.map(({ key }) => key);
  return {
    acceptances,
    calls,
    replays,
    diary,
    effects: (await pool.query<EffectLine>(EFFECTS)).rows,
    runs: await keys('select key from comanda.run'),
    ownRows: await keys('select key from soak.decision'),
  };
}

const EFFECTS = `
select s.idempotency_key as key, s.kind, s.run_key as decision, s.state, e.payload, e.ordering_key as lane,
    (extract(epoch from e.due_at) * 1000)::float8 as "dueAt", s.state = 'unknown' or a.uncertain as unknown,
    exists (select from comanda.effect_request q where q.effect_id = s.effect_id and q.action = 'resolve') as resolved
  from comanda.effect_state s
  join comanda.effect e on e.id = s.effect_id
  cross join lateral (
    select coalesce(bool_or(x.phase = 'look' or x.outcome = 'unknown' or x.phase = 'start' and not exists (
        select from comanda.attempt y where y.effect_id = x.effect_id and y.fence = x.fence and y.phase = 'end')), false) as uncertain
      from comanda.attempt x where x.effect_id = s.effect_id) a
  order by s.effect_id`;

function referenceOf(body: string): string {
  try {
    return String((JSON.parse(body) as { readonly reference?: unknown }).reference);
  } catch {
    return body;
  }
}
