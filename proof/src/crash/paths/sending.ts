import { hasArrived, type Path } from './path.js';

/** What becomes of one effect on its way to the provider, answer by answer. */
export const SENDING: readonly Path[] = [
  {
    name: 'send',
    victim: 'relay',
    play: (stage) => stage.decide('order', { ref: 'refund' }),
    ends: { refund: ['completed'] },
  },
  {
    name: 'lane of four',
    victim: 'relay',
    async play(stage) {
      await stage.decide('first', { ref: 'a', lane: true }, { ref: 'b', lane: true }, { ref: 'c', lane: true });
      await stage.decide('second', { ref: 'd', lane: true });
    },
    ends: { a: ['completed'], b: ['completed'], c: ['completed'], d: ['completed'] },
    order: ['a', 'b', 'c', 'd'],
  },
  {
    name: 'delayed',
    victim: 'relay',
    play: (stage) => stage.decide('order', { ref: 'later', delayMs: 150 }),
    ends: { later: ['completed'] },
  },
  {
    name: 'refused by the provider',
    victim: 'relay',
    refuses: true,
    play: (stage) => stage.decide('order', { ref: 'bad', behave: ['always 400'] }),
    ends: { bad: ['failed'] },
  },
  {
    name: 'told to come back later',
    victim: 'relay',
    play: (stage) => stage.decide('order', { ref: 'paused', behave: ['429'] }),
    ends: { paused: ['completed'] },
  },
  {
    name: 'error of the provider',
    victim: 'relay',
    play: (stage) => stage.decide('order', { ref: 'again', behave: ['500'] }),
    ends: { again: ['completed'] },
  },
  {
    name: 'credentials refused',
    victim: 'relay',
    play: (stage) => stage.decide('order', { ref: 'probe', behave: ['401'] }),
    ends: { probe: ['completed'] },
  },
  {
    name: 'answer lost',
    victim: 'relay',
    play: (stage) => stage.decide('order', { ref: 'maybe', behave: ['drop'] }),
    ends: { maybe: ['completed'] },
  },
  {
    name: 'answer too late',
    victim: 'relay',
    play: (stage) => stage.decide('order', { ref: 'late', behave: ['late'] }),
    ends: { late: ['completed'] },
  },
  {
    name: 'slower than the lease',
    victim: 'relay',
    timeoutMs: 4_000,
    play: (stage) => stage.decide('order', { ref: 'long', behave: ['long'] }),
    ends: { long: ['completed'] },
  },
  {
    name: 'taking over from a dead relay',
    victim: 'relay',
    prepare: (stage) =>
      stage.decide('order', { ref: 'held', lane: true, behave: ['late'] }, { ref: 'next', lane: true }),
    predecessorDiesWhen: (stage) => hasArrived(stage, 'held'),
    play: async () => undefined,
    ends: { held: ['completed'], next: ['completed'] },
    order: ['held', 'next'],
  },
];
