import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, needService, temporaryFolder } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { type Bench, bench } from '../relay/setup.js';
import { decisionOf, judges, LONG, settled, verdict, worker } from './kit.js';

/** The library of the package `faketime`: /usr/lib/<architecture>/faketime/libfaketimeMT.so.1 on Debian. */
function library(): string | undefined {
  const folders = ['/usr/lib', '/usr/lib64', '/usr/local/lib'].filter((folder) => existsSync(folder));
  const places = folders.flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))]);
  return places.map((place) => join(place, 'faketime', 'libfaketimeMT.so.1')).find((file) => existsSync(file));
}

/** As operating systems do it: the wall clock is set, the monotonic one goes on. */
const WALL_ONLY = { FAKETIME_DONT_FAKE_MONOTONIC: '1' };

type Variant = readonly [how: string, env: Readonly<Record<string, string>>];

function variants(): readonly Variant[] {
  const always: Variant[] = [
    ['an hour ahead', { FAKETIME: '+1h', ...WALL_ONLY }],
    ['half as fast, timers and all', { FAKETIME: '+0 x0.5' }],
    ['jumping about', WALL_ONLY],
  ];
  const more: Variant[] = [
    ['an hour behind', { FAKETIME: '-1h', ...WALL_ONLY }],
    ['an hour ahead, the monotonic clock too', { FAKETIME: '+1h' }],
    ['twice as fast', { FAKETIME: '+0 x2', ...WALL_ONLY }],
    ['twice as fast, timers and all', { FAKETIME: '+0 x2' }],
  ];
  return LONG ? [...always, ...more] : always;
}

const finished = (b: Bench, what: string) => eventually(() => settled(b.rows), { withinMs: 60_000, everyMs: 50, what });

/** Requests per effect of the kinds that have a key: a wrong clock is no reason to send anything again. */
const repeated = (entries: readonly { readonly body: string; readonly path: string }[]) => {
  const seen = entries.filter(({ path }) => path === '/refunds').map(({ body }) => body);
  return seen.filter((body, index) => seen.indexOf(body) !== index);
};

describe('the clock of a relay’s host', () => {
  it.for(variants())(
    'T01: is %s: leases are judged by the database clock, nothing is sent again, nothing stands still',
    { timeout: 120_000 },
    async ([how, env], context) => {
      const preload = library();
      needService(context, 'faketime', preload !== undefined, 'apt-get install faketime');
      const b = await bench(4);
      const books = await judges();
      const file = join(temporaryFolder('clock'), 'clock');
      writeFileSync(file, '+0');
      const jumps = how === 'jumping about' ? { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' } : {};
      for (const provider of [books.gateway, books.mail])
        await provider.control({ rates: { acceptSlow: 0.5 }, slowMs: 500 });
      // Half a lease in the provider: long enough for whoever believes that it has ended.
      const config = { leaseMs: 1_500, timeoutMs: 10_000 };
      const right = worker(b.database.pooledUrl, books, { ...config, name: 'right' });
      const wrong = worker(
        b.database.pooledUrl,
        books,
        { ...config, name: 'wrong' },
        { env: { LD_PRELOAD: preload ?? '', ...env, ...jumps } },
      );
      const { relay } = await wrong.line<{ relay: string }>((line) => 'ready' in line, 30_000);
      await right.line((line) => 'ready' in line, 30_000);
      wrong.send('clock');
      const { wallMs } = await wrong.line<{ wallMs: number }>((line) => 'wallMs' in line);
      const ahead = Math.abs(wallMs - Date.now()) > 3_000_000;
      expect(ahead, 'whether the process sees the other time').toBe(how.includes('hour'));
      for (let n = 0; n < 12; n += 1) {
        await b.decide(decisionOf(`both-${n}`));
        // Anywhere within the work of the other decisions.
        writeFileSync(file, ['+1h', '-1h', '+0'][n % 3] ?? '');
        await eventually(() => books.gateway.entries('received').length >= n, { what: 'relays at work' });
      }
      await finished(b, 'the work of both');
      // Timers that run fast end a timeout early, which a key is there for.
      if (!how.includes('timers')) expect(repeated(books.gateway.entries('received'))).toEqual([]);
      await right.kill('SIGKILL');
      await b.decide(decisionOf('alone'));
      await finished(b, 'the work of the relay with the wrong clock');
      expect(await verdict(b.rows, books)).toEqual([]);
      expect((await b.rows('select from comanda.attempt where owner = $1', [relay])).length).toBeGreaterThan(3);
    },
  );
});
