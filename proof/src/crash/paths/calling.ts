import type { Act } from '../processes/configuration.js';
import type { Stage } from '../stage/stage.js';
import type { Path } from './path.js';

const REFUND = `update shop.orders set status = 'refunded' where id = 'ORD-1' and status = 'received'`;
/** COMANDA_KEY_CONFLICT. */
const KEY_CONFLICT = 'CM001';
const WHO = { by: 'ana@cumbre.example', reason: 'asked by the customer' };

const decide = (stage: Stage, behave: readonly 'slow'[] = []) => ({
  sql: 'select * from comanda.decide($1::text::jsonb)',
  request: stage.decision('order', { ref: 'refund', ...(behave.length > 0 ? { behave } : {}) }),
});

/** Performs an act that must be done; `created` says whether its decision may be a repetition. */
async function done(stage: Stage, created: 'once' | 'never', ...statements: Act['statements']): Promise<void> {
  const end = await stage.act(...statements);
  if ('refused' in end) stage.wrong(`the act was refused: ${end.error}`);
  else if (created === 'never' && end.row?.['created'] !== false) stage.wrong('a repeated decision was made anew');
}

const order = (stage: Stage): Promise<unknown> => stage.query(`insert into shop.orders values ('ORD-1', 'received')`);

/** What an application does, in its own transactions. */
export const CALLING: readonly Path[] = [
  {
    name: 'decide',
    victim: 'caller',
    prepare: async (stage) => void (await order(stage)),
    play: (stage) => done(stage, 'once', { sql: REFUND }, decide(stage)),
    ends: { refund: ['completed'] },
  },
  {
    name: 'decide again',
    victim: 'caller',
    async prepare(stage) {
      await order(stage);
      await stage.query(REFUND);
      await stage.decide('order', { ref: 'refund' });
    },
    play: (stage) => done(stage, 'never', { sql: REFUND }, decide(stage)),
    ends: { refund: ['completed'] },
  },
  {
    name: 'decide otherwise under the same key',
    victim: 'caller',
    async prepare(stage) {
      await order(stage);
      await stage.query(REFUND);
      await stage.decide('order', { ref: 'refund' });
    },
    async play(stage) {
      const end = await stage.act(decide(stage, ['slow']));
      if (!('refused' in end)) stage.wrong('another content under a known key was accepted');
      else if (end.error !== KEY_CONFLICT)
        stage.wrong(`another content under a known key was refused with ${end.error}`);
    },
    ends: { refund: ['completed'] },
  },
  {
    name: 'cancel',
    victim: 'caller',
    prepare: (stage) => stage.decide('order', { ref: 'waits', delayMs: 3_600_000 }),
    play: (stage) =>
      done(stage, 'once', { sql: 'select * from comanda.cancel($1::text::jsonb)', request: { key: 'order', ...WHO } }),
    ends: { waits: ['cancelled'] },
  },
  {
    name: 'turn the switch',
    victim: 'caller',
    prepare: (stage) => stage.decide('order', { ref: 'refund' }),
    async play(stage) {
      for (const mode of ['stop', 'run'])
        await done(stage, 'once', {
          sql: 'select * from comanda.switch_set($1::text::jsonb)',
          request: { scope: 'all', mode, ...WHO },
        });
    },
    ends: { refund: ['completed'] },
  },
];
