import { createBatcher } from '../kernel/batcher.js';
import type { SendAnswer, SendItem } from '../outbox/engine.js';
import type { RelayEnvironment } from './environment.js';

/** Asks the database whether an effect may be sent now: fence, lease, switch, cancel. The read begins after the effect reached its turn (P8). */
export type SendGate = (item: SendItem) => Promise<string>;

const MAX_ITEMS = 500;
const BUSY_AGAIN_MS = 3;

/** Makes the gate of one relay. Questions of the same moment share a round trip. */
export function createSendGate(env: RelayEnvironment): SendGate {
  const batcher = createBatcher<SendItem, string>({
    maxItems: MAX_ITEMS,
    maxWaitMs: 0,
    clock: env.clock,
    run: async (items) => {
      const rows = await env.engine.maySend({ relay: env.id, floor: env.floor, items });
      const answers = new Map(rows.map((row: SendAnswer) => [`${row.fence} ${row.effect_id}`, row.answer]));
      // What was not answered may not be sent.
      return items.map((item) => answers.get(`${item.fence} ${item.effect}`) ?? 'lost');
    },
  });
  return async (item) => {
    for (;;) {
      const answer = await batcher.add(item);
      if (answer !== 'busy') return answer;
      await env.clock.sleep(BUSY_AGAIN_MS);
    }
  };
}
