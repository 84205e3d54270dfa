import { type Child, eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/kernel/ids.js';
import { type Bench, bench } from '../relay/setup.js';
import { decisionOf, each, type Judges, judges, LONG, settled, trouble, verdict, worker } from './kit.js';

const CONFIG = { leaseMs: 900, timeoutMs: 500 };

const allSettled = (b: Bench, what: string) =>
  eventually(() => settled(b.rows), { withinMs: 40_000, everyMs: 50, what });

async function traffic(b: Bench, prefix: string): Promise<void> {
  for (let n = 0; n < 3; n += 1) await b.decide(decisionOf(`${prefix}first-${n}`));
}

/** The statements that a relay was seen to use for that traffic. */
async function statementsSeen(books: Judges): Promise<string[]> {
  const b = await bench(3);
  const child = worker(b.database.pooledUrl, books, CONFIG);
  await traffic(b, 'seen-');
  await allSettled(b, 'the traffic');
  await child.kill('SIGTERM');
  return child.lines.flatMap((line) => (line as { statement?: string }).statement ?? []);
}

/** Where almost everything can go wrong; the short form takes two of the others, drawn anew each time. */
const ALWAYS = ['route answered', 'may_send sent', 'may_send answered', 'settle sent', 'settle answered'];

function chosen(seen: readonly string[]): string[] {
  const all = seen.flatMap((statement) => [`${statement} sent`, `${statement} answered`]);
  if (LONG) return all;
  const others = all.filter((point) => !ALWAYS.includes(point));
  const draw = () => others.splice(Math.floor(systemRandom() * others.length), 1)[0] ?? '';
  return [...ALWAYS, draw(), draw()];
}

/** A start that was held up for longer than it waits for the database fails, and whoever supervises it starts it again. */
async function supervised(child: Child, again: () => Child): Promise<Child> {
  const isReady = () => child.lines.some((line) => 'ready' in (line as object));
  const what = 'the relay being ready, or having given up its start';
  const ended = child.exited.then(() => 'ended');
  let state = 'running';
  void ended.then((word) => {
    state = word;
  });
  await eventually(() => isReady() || state === 'ended', { withinMs: 20_000, what });
  return isReady() ? child : again();
}

describe('a relay is stopped past its lease and goes on', () => {
  it('at each of its statements, when it has left and when it was answered: others take over, it finds its place again, nothing lost or doubled', async () => {
    const books = await judges();
    await trouble(books);
    const seen = await statementsSeen(books);
    expect(seen.length).toBeGreaterThan(10);
    await each(chosen(seen), 3, async (point) => {
      const [statement, phase] = point.split(' ');
      const prefix = `${statement}-${phase}-`;
      const b = await bench(3);
      const stopped = worker(b.database.pooledUrl, books, { ...CONFIG, stopAt: { statement, phase }, name: 'stopped' });
      await traffic(b, prefix);
      await stopped.line((line) => 'frozen' in line, 30_000);
      const other = worker(b.database.pooledUrl, books, CONFIG);
      await allSettled(b, `the work of a relay that is stopped at ${point}`);
      stopped.resume();
      await other.kill('SIGKILL');
      const back = await supervised(stopped, () => worker(b.database.pooledUrl, books, CONFIG));
      await b.decide(decisionOf(`${prefix}second`));
      await allSettled(b, `new work of a relay that was stopped at ${point}`);
      expect(await verdict(b.rows, books, prefix), point).toEqual([]);
      await back.kill('SIGKILL');
    });
  }, 400_000);

  it.each(['accepted', 'received'] as const)(
    'while the provider has it %s: told so, its evidence kept, the outcome that of the new owner',
    async (moment) => {
      const b = await bench(4);
      const books = await judges();
      // Accepted and not answered; or neither, and accepted only after everybody believes that it never will be.
      const slow = moment === 'accepted' ? 'acceptSlow' : 'slow';
      const slowMs = moment === 'accepted' ? 20_000 : 4_000;
      for (const provider of [books.gateway, books.mail]) await provider.control({ script: [slow, slow], slowMs });
      const paused = worker(b.database.pooledUrl, books, { leaseMs: 1_000, timeoutMs: 30_000, name: 'paused' });
      await b.decide(decisionOf('first'));
      const inside = () => [...books.gateway.entries(moment), ...books.mail.entries(moment)].length === 4;
      await eventually(inside, { what: `four requests ${moment}` });
      paused.pause();
      const other = worker(b.database.pooledUrl, books, { leaseMs: 1_000, timeoutMs: 700 });
      await allSettled(b, 'the work of the relay that is stopped');
      const before = await b.rows('select effect_id, state, fence::text from comanda.outcome order by effect_id');
      paused.resume();
      await late(paused, 3);
      expect(await b.rows('select effect_id, state, fence::text from comanda.outcome order by effect_id')).toEqual(
        before,
      );
      await other.kill('SIGKILL');
      await b.decide(decisionOf('second'));
      await allSettled(b, 'new work of the relay that was stopped');
      expect(await verdict(b.rows, books)).toEqual([]);
    },
    90_000,
  );
});

/** It was told about so many effects that they are no longer its own. */
async function late(paused: Child, count: number): Promise<void> {
  const told = () => paused.lines.filter((line) => (line as { event?: string }).event === 'lease_lost');
  await eventually(() => told().length >= count, { withinMs: 30_000, what: `${count} late attempts being told` });
}
