import { setTimeout as delay } from 'node:timers/promises';
import type { Path } from '../paths/path.js';
import { clearUp } from '../stage/person.js';
import type { Stage } from '../stage/stage.js';

const REST_MS = 40_000;

/** Until every effect has ended; whom nobody else can ask, a person answers. */
export async function rest(stage: Stage, path: Path, look: () => Promise<void>): Promise<void> {
  const until = performance.now() + REST_MS;
  const names = Object.keys(path.ends);
  const open = async (): Promise<boolean> => {
    const rows = await stage.query<{ ref: string; state: string }>(
      'select name as ref, state from comanda.effect_state',
    );
    if (rows.some(({ state }) => state === 'unknown')) await clearUp(stage);
    return !names.every((name) => rows.some(({ ref, state }) => ref === name && ENDED.includes(state)));
  };
  // Whatever is still open then is found by the judge.
  while ((await open()) && performance.now() < until) await delay(150);
  await look();
}

const ENDED: readonly string[] = ['completed', 'failed', 'cancelled'];

/** What a kill left: each effect with its state, and whether the provider had accepted it. */
export async function leftBehind(stage: Stage): Promise<string> {
  const rows = await stage.query<{ ref: string; state: string }>(
    'select name as ref, state from comanda.effect_state order by effect_id',
  );
  const book = await stage.book();
  const isAccepted = (ref: string): boolean => book.some((entry) => entry.event === 'accepted' && entry.ref === ref);
  const words = rows.map(
    ({ ref, state }) => `${rows.length > 1 ? `${ref} ` : ''}${state}${isAccepted(ref) ? ', accepted' : ''}`,
  );
  return words.length === 0 ? 'nothing decided' : words.join('; ');
}
