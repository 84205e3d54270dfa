import { describe, expect, it } from 'vitest';
import { createPolls } from '../src/crash/watch/polls.js';
import { statementName } from '../src/crash/watch/statement-name.js';
import { createTap, type Victim } from '../src/crash/watch/tap.js';

function victim(): Victim & { readonly deaths: string[] } {
  const deaths: string[] = [];
  return {
    deaths,
    get gone() {
      return deaths.length > 0;
    },
    kill: async () => void deaths.push('killed'),
  };
}

async function pass(tap: ReturnType<typeof createTap>, who: Victim, name: string, answer: string): Promise<string> {
  const exchange = tap.exchange(who, name);
  if (!(await exchange.before())) return 'before';
  if (!(await exchange.sent(answer))) return 'sent';
  await exchange.answered(async () => undefined);
  return who.gone ? 'answered' : 'alive';
}

const polls = () => createPolls(new Map([['claim', new Set(['', 'nothing'])]]));

describe('what the proxies tell', () => {
  it('polls that learn nothing new are one boundary, the others are counted', async () => {
    const tap = createTap(polls());
    const who = victim();
    tap.begin();
    for (const answer of ['', 'a', '', 'b']) await pass(tap, who, 'claim', answer);
    await pass(tap, who, 'settle', 'x');
    expect(tap.seen.map(({ name, occurrence, idle, after }) => [name, occurrence, idle, after])).toEqual([
      ['claim', 1, true, undefined],
      ['claim', 1, false, undefined],
      ['claim', 2, false, 'claim'],
      ['settle', 1, false, 'claim #2'],
    ]);
  });

  it.each(['before', 'sent', 'answered'] as const)('kills once, %s the second of a name', async (point) => {
    const boundary = { name: 'claim', occurrence: 2, idle: false, after: 'settle' };
    const tap = createTap(polls(), { boundary, point });
    const who = victim();
    await pass(tap, who, 'claim', 'earlier'); // before the path begins nothing counts
    tap.begin();
    const ways: string[] = [];
    for (const [name, answer] of [
      ['claim', 'a'],
      ['claim', ''],
      ['settle', 'x'],
      ['claim', 'b'],
      ['claim', 'c'],
    ] as const) {
      ways.push(await pass(tap, who, name, answer));
      if (who.gone) break;
    }
    expect(ways).toEqual(['alive', 'alive', 'alive', point]);
    expect(who.deaths).toEqual(['killed']);
  });

  it('names a settle by what it says, a function by its name, other statements by their beginning', () => {
    const settle = JSON.stringify({
      lanes: [
        { mode: 'next', ended: [{ state: 'completed' }] },
        { mode: 'block', trouble: 'failed' },
      ],
    });
    expect(statementName('select 1 from comanda.settle($1::text::jsonb)', [settle])).toBe(
      'settle block failed + next: completed',
    );
    expect(statementName('select lane from comanda.claim($1)', ['{}'])).toBe('claim');
    expect(statementName(`update  shop.orders set status = 'refunded'`, [])).toBe('update shop.orders set status = …');
  });
});
