import type { Stage } from '../stage/stage.js';
import { hasArrived, hasEnded, type Path } from './path.js';

const WHO = { by: 'ana@cumbre.example', reason: 'asked by the customer' };

async function request(stage: Stage, ref: string, action: 'skip' | 'redrive'): Promise<void> {
  const effect = await stage.effect(ref);
  await stage.query('select * from comanda.request($1::text::jsonb)', { effect: Number(effect?.id), action, ...WHO });
}

/** A dead letter at the head of its lane, or what a person has to say first. */
const stands = (stage: Stage, ref: string) => async (): Promise<boolean> =>
  (await stage.effect(ref))?.state === 'failed';

/** What people ask for, applied by relays. */
export const PEOPLE: readonly Path[] = [
  {
    name: 'cancelled behind another',
    victim: 'relay',
    async play(stage) {
      await stage.decide('order', { ref: 'first', lane: true, behave: ['slow'] });
      await stage.decide('wrong', { ref: 'behind', lane: true });
      await stage.until('the first to arrive', () => hasArrived(stage, 'first'));
      await stage.query('select * from comanda.cancel($1::text::jsonb)', { key: 'wrong', ...WHO });
    },
    ends: { first: ['completed'], behind: ['completed', 'cancelled'] },
    order: ['first', 'behind'],
  },
  {
    name: 'cancelled too late',
    victim: 'relay',
    async play(stage) {
      await stage.decide('order', { ref: 'gone', behave: ['slow'] });
      await stage.until('it to arrive', () => hasArrived(stage, 'gone'));
      await stage.query('select * from comanda.cancel($1::text::jsonb)', { key: 'order', ...WHO });
    },
    ends: { gone: ['completed', 'cancelled'] },
  },
  {
    name: 'cancelled while it waits',
    victim: 'relay',
    async play(stage) {
      await stage.decide('order', { ref: 'waits', delayMs: 3_600_000 }, { ref: 'beside' });
      await stage.query('select * from comanda.cancel($1::text::jsonb)', { key: 'order', name: 'waits', ...WHO });
    },
    ends: { waits: ['cancelled'], beside: ['completed'] },
  },
  {
    name: 'dead letter skipped',
    victim: 'relay',
    refuses: true,
    async play(stage) {
      await stage.decide('order', { ref: 'dead', lane: true, behave: ['always 400'] }, { ref: 'next', lane: true });
      await stage.until('the dead letter', stands(stage, 'dead'));
      await request(stage, 'dead', 'skip');
      await stage.until('the next one', () => hasEnded(stage, 'next'));
    },
    ends: { dead: ['failed', 'cancelled'], next: ['completed'] },
  },
  {
    name: 'dead letter redriven',
    victim: 'relay',
    refuses: true,
    async play(stage) {
      await stage.decide('order', { ref: 'dead', lane: true, behave: ['400'] }, { ref: 'next', lane: true });
      await stage.until(
        'the dead letter',
        async () => (await stands(stage, 'dead')()) || (await hasEnded(stage, 'next')),
      );
      if (await stands(stage, 'dead')()) await request(stage, 'dead', 'redrive');
    },
    ends: { dead: ['completed'], next: ['completed'] },
    order: ['dead', 'next'],
  },
];
