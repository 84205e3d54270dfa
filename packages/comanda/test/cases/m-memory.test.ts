import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterThisTest, eventually, spawnNode } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { type Bench, bench } from './kit.js';

const LONG = process.env['COMANDA_LONG'] === '1';
const PROCESS = new URL('./fixtures/memory-process.mjs', import.meta.url);
/** The short form runs beside other tests: its times are given five times as long. */
const SLACK = LONG ? 1 : 5;
/** Figures are printed when a test fails, and asked for with COMANDA_FIGURES=1. */
const figure = (text: string): void => {
  if (process.env['COMANDA_FIGURES'] === '1') console.log(text);
};

/** The most memory that a process has had, in MB. */
function peakMb(pid: number): number {
  const kb = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kb) / 1024);
}

const relay = (b: Bench, config: Record<string, unknown> = {}) =>
  spawnNode(PROCESS, [JSON.stringify({ url: b.db.pooledUrl, ...config })]);

const ended = (b: Bench, kind: string): Promise<number> =>
  b.value<number>(
    'select count(*)::int from comanda.outcome o join comanda.effect e on e.id = o.effect_id where e.kind = $1',
    kind,
  );

async function timedMs(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return Math.round(performance.now() - from);
}

describe.skipIf(process.platform !== 'linux')('a relay with more work than memory', () => {
  /** A fiftieth of the case's size, the whole with COMANDA_LONG=1. */
  const pending = LONG ? 1_000_000 : 20_000;

  it('M05: a backlog is read in small pieces: memory stays small, the first claim is quick, numbers are cheap', {
    timeout: 1_800_000,
  }, async () => {
    const b = await bench();
    // As decide() writes them, many at once.
    for (let from = 1; from <= pending; from += 100_000) {
      await b.rows(
        `with r as (insert into comanda.run (key, subject, state) select 'M05-' || g, 'order:' || g, 'decided' from generate_series($1::int, $2::int) g returning id),
           e as (insert into comanda.effect (run_id, name, kind, target, payload) select r.id, 'noop', 'noop', 'noop', '{"n": 1}' from r returning id)
         insert into comanda.effect_arrival (id, effect_id, lane, kind, target) select nextval('comanda.lane_position'), e.id, 'e:' || e.id, 'noop', 'noop' from e`,
        from,
        Math.min(from + 99_999, pending),
      );
    }
    const child = relay(b);
    const { claimedAfterMs } = await child.line<{ claimedAfterMs: number }>((line) => 'claimedAfterMs' in line, 60_000);
    const work = LONG ? 100_000 : 4_000;
    await eventually(async () => (await ended(b, 'noop')) > work, {
      withinMs: 600_000,
      everyMs: 100,
      what: `${work} effects`,
    });
    const peak = peakMb(child.pid);
    const times: Record<string, number> = {};
    for (const view of ['gauges', 'attention', 'unattended'])
      times[view] = await timedMs(() => b.rows(`select * from comanda.${view}`));
    times['status of one'] = await timedMs(() =>
      b.rows(`select * from comanda.effect_state where run_key = 'M05-' || $1`, pending),
    );
    figure(
      `M05, ${pending} pending: first claim after ${claimedAfterMs} ms, peak ${peak} MB, ${JSON.stringify(times)} ms`,
    );
    expect(claimedAfterMs, 'the first claim, in ms').toBeLessThan(1_000 * SLACK);
    expect(peak, 'the most memory, in MB').toBeLessThan(400);
    expect(times['gauges'], 'the gauges, in ms').toBeLessThan(5_000 * SLACK);
  });

  it('M06: few effects with large payloads: memory is bounded, all are done, small ones elsewhere start at once', {
    timeout: 600_000,
  }, async () => {
    const b = await bench();
    /** A third of the case's size, the whole with COMANDA_LONG=1. */
    const large = LONG ? 300 : 100;
    const bytes = 1_048_576 - 100;
    const provider = await slowProvider(500);
    // In lanes of ten, so that a claim brings as many as it may.
    await b.rows(
      `select count(*) from generate_series(1, $1::int) g cross join lateral comanda.decide(jsonb_build_object('key', 'M06-' || g,
         'effects', jsonb_build_array(jsonb_build_object('kind', case when g % 2 = 0 then 'scan' else 'film' end, 'orderingKey', 'l' || g % 2 || g / 20, 'payload', jsonb_build_object('g', g, 'data', repeat('x', $2::int)))))) d`,
      large,
      bytes,
    );
    const child = relay(b, { provider: provider.url, kinds: ['scan', 'film', 'note'] });
    const { idleMb } = await child.line<{ idleMb: number }>((line) => line['ready'] === true, 60_000);
    await eventually(() => provider.seen('scan') + provider.seen('film') > 4, {
      withinMs: 60_000,
      what: 'the first large ones',
    });
    const decidedAt = performance.now();
    await b.rows(
      `select count(*) from generate_series(1, 20) g cross join lateral comanda.decide(jsonb_build_object('key', 'small-' || g,
         'effects', jsonb_build_array(jsonb_build_object('kind', 'note', 'orderingKey', 's' || g)))) d`,
    );
    await eventually(() => provider.seen('note') === 20, { withinMs: 60_000, everyMs: 5, what: 'the small ones' });
    const startedMs = Math.round(performance.now() - decidedAt);
    const meanwhile = provider.seen('scan') + provider.seen('film');
    await eventually(async () => (await ended(b, 'scan')) + (await ended(b, 'film')) === large, {
      withinMs: 300_000,
      everyMs: 100,
      what: 'all large ones',
    });
    const peak = peakMb(child.pid);
    figure(`M06, ${large} of 1 MiB: idle ${idleMb} MB, peak ${peak} MB, small ones after ${startedMs} ms`);
    expect(meanwhile, 'large ones were under way').toBeLessThan(large);
    expect(startedMs, 'until the small ones had started, in ms').toBeLessThan(5_000 * SLACK);
    expect(peak, 'the most memory, in MB').toBeLessThan(450);
  });
});

/** Counts what it gets by path, keeps none of it, and answers after a while. */
async function slowProvider(answerMs: number): Promise<{ url: string; seen(kind: string): number }> {
  const seen = new Map<string, number>();
  const server: Server = createServer((request, response) => {
    const kind = (request.url ?? '').slice(1);
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    request.resume().on('end', () => setTimeout(() => response.end('{"id":"1"}'), answerMs));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  afterThisTest(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen: (kind) => seen.get(kind) ?? 0 };
}
