import { type Child, eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { bench } from '../relay/setup.js';
import { judges, LONG, worker } from './kit.js';

/** The short form is a fortieth of the case. */
const TOTAL = LONG ? 200_000 : 5_000;
const IN_FLIGHT = 100;
const WITHIN_MS = LONG ? 1_500_000 : 90_000;
const LIMIT_KB = 400 * 1024;

async function residentKb(relay: Child): Promise<number> {
  const before = relay.lines.length;
  relay.send('memory');
  const answer = await eventually(
    () => relay.lines.slice(before).find((line) => 'rssKb' in (line as object)) as { rssKb: number } | undefined,
    { what: 'the relay saying how much memory it has used' },
  );
  return answer.rssKb;
}

describe('a huge backlog', () => {
  it(
    'C11: by polling, one statement inserts 200 000 effects: memory is bounded, each is delivered once, and progress is kept over a kill in the middle',
    async () => {
      const b = await bench();
      const books = await judges();
      const config = { leaseMs: 3_000, timeoutMs: 1_000, concurrency: IN_FLIGHT };
      const first = worker(b.database.pooledUrl, books, config);
      await first.line((line) => 'ready' in line, 20_000);
      await b.rows(
        `select count(*) from generate_series(1, 20) d cross join lateral comanda.decide(jsonb_build_object('key', 'huge-' || d,
           'actor', '{"type":"system","id":"t"}'::jsonb, 'effects', (select jsonb_agg(jsonb_build_object('kind', 'keyed', 'name', 'e' || e,
             'payload', jsonb_build_object('reference', d || '/' || e))) from generate_series(1, $1::int) e)))`,
        [TOTAL / 20],
      );
      const accepted = async () => (await books.gateway.stats()).accepted;
      const middle = async () => (await accepted()) >= TOTAL * 0.4;
      await eventually(middle, { withinMs: WITHIN_MS, everyMs: 50, what: 'the first part' });
      const used = [await residentKb(first)];
      await first.kill('SIGKILL');
      const second = worker(b.database.pooledUrl, books, config);
      const ended = async () =>
        (await b.rows<{ n: number }>('select count(*)::int as n from comanda.outcome'))[0]?.n === TOTAL;
      await eventually(ended, { withinMs: WITHIN_MS, everyMs: 200, what: 'the rest' });
      used.push(await residentKb(second));
      expect(used.filter((kb) => kb > LIMIT_KB)).toEqual([]);
      const keys = books.gateway.entries('accepted').map(({ key }) => key);
      expect([keys.length, new Set(keys).size]).toEqual([TOTAL, TOTAL]);
      // Asked for again: only what was under way at the kill.
      expect(books.gateway.entries('received').length).toBeLessThanOrEqual(TOTAL + 2 * IN_FLIGHT);
      expect(await b.unattended()).toBe(0);
      if (LONG) console.log(`resident memory at most, in KiB: ${used.join(', ')}`);
    },
    2 * WITHIN_MS + 60_000,
  );
});
