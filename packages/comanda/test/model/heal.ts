import { given } from '../sql/kit/steps.js';
import { type Play, play } from './commands.js';
import { check } from './invariants.js';
import { stateOf } from './model.js';
import { ask, turn } from './people.js';
import { claim, route } from './relay.js';
import { answer, send, step } from './work.js';

const ROUNDS = 40;

/**
 * Everything that was wrong is mended, one relay works, and a person resolves what asks for a person. Then every effect has to end, and the books to balance (P2, P3).
 */
export async function heal(p: Play): Promise<void> {
  const { w, m } = p;
  const relay = given(p.relays[0]);
  for (const r of p.relays) r.held = [];
  await play(p, ['commit', 1, 0, 0]);
  await play(p, ['adopt', 0, 0, 0]);
  for (const scope of m.switches.keys()) await turn(w, m, scope, 'run');
  for (let round = 0; [...m.effects.values()].some((e) => e.place !== 'ended') || m.asked.length > 0; round++) {
    if (round > ROUNDS)
      throw new Error(
        `not drained: ${[...m.effects.values()]
          .filter((e) => e.place !== 'ended')
          .map((e) => `${e.id} ${stateOf(m, e)}`)
          .join(', ')} ${m.asked.map((a) => `${a.action} of ${a.effect.id} unanswered`).join(', ')}`,
      );
    await play(p, ['pass', 5, 0, 0]);
    await play(p, ['sweep', 0, 0, 0]);
    await route(w, m, relay, 31);
    await check(w, m, p.before);
    await claim(w, m, relay, 31, 10, 100);
    await check(w, m, p.before);
    while (relay.held.length > 0) {
      const h = given(relay.held[0]);
      if (h.stage === 'claimed') await step(w, m, relay, h, true);
      else if (h.stage === 'go') await send(w, m, relay, h, 'accepted');
      else await answer(w, m, relay, h, 'completed', 0, 'hold');
      if (h.stage === 'claimed') await check(w, m, p.before);
    }
    for (const lane of [...m.lanes.values()]) {
      const head = given(lane.queue[0]);
      if (lane.parked !== undefined && lane.trouble !== undefined)
        await ask(w, m, head, lane.trouble === 'failed' ? 'skip' : 'resolve', 1);
    }
  }
  await play(p, ['sweep', 0, 0, 0]);
  balance(p);
  const open = await w.s.rows('select action, effect_id from comanda.effect_request where answered_at is null');
  if (open.length > 0) throw new Error(`requests without an answer: ${JSON.stringify(open)}`);
}

/** The provider's book against the outcomes. */
function balance({ m }: Play): void {
  for (const e of m.effects.values()) {
    const times = e.applied.length;
    if (e.end === undefined) throw new Error(`effect ${e.id} has not ended`);
    if (e.end.state === 'completed' && times === 0) throw new Error(`effect ${e.id} is completed and never happened`);
    if (e.end.state === 'cancelled' && times > 0) throw new Error(`effect ${e.id} is cancelled and happened`);
    if (e.end.state === 'failed' && times > 0 && !e.end.maybe)
      throw new Error(`effect ${e.id} is failed for certain and happened`);
    if (times > 1 && e.kind.idempotency !== 'natural') throw new Error(`effect ${e.id} happened ${times} times`);
  }
}
