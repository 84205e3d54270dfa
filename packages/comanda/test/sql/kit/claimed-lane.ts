import { type Engine, engine } from './engine.js';
import { type Claimed, claim, decideInOrder, given, route } from './steps.js';

/** A lane `k:a` with `n` effects, routed and claimed. */
export async function claimed(n: number, batch = n): Promise<{ s: Engine; ids: number[]; c: Claimed[] }> {
  const s = await engine();
  const ids = await decideInOrder(s, 'a', n);
  await route(s);
  return { s, ids, c: await claim(s, { batch }) };
}

/** The head of what was claimed. */
export const first = (c: readonly Claimed[]): Claimed => given(c[0]);
