import type { Path } from '../paths/path.js';
import type { BookEntry } from '../stage/book.js';
import type { Stage } from '../stage/stage.js';
import type { Verdict } from './verdict.js';

interface EffectLine {
  readonly ref: string;
  readonly kind: string;
  readonly state: string;
  /** Why it ended so, or what it waits for. */
  readonly reason: string | null;
  readonly payload: string;
  readonly unknown: boolean;
}

const ENDED: readonly string[] = ['completed', 'failed', 'cancelled'];

/** Compares what the provider's book says with what the database says and with how the path must end. */
export async function judge(path: Path, stage: Stage, unattended: readonly string[]): Promise<Verdict> {
  const effects = await stage.query<EffectLine>(EFFECTS);
  const book = await stage.book();
  const accepted = (ref: string): readonly BookEntry[] =>
    book.filter((entry) => entry.event === 'accepted' && entry.ref === ref);
  const lost: string[] = [];
  const duplicated: string[] = [];
  const wrong: string[] = [];
  for (const [ref, ends] of Object.entries(path.ends)) {
    const found = effects.filter((effect) => effect.ref === ref);
    if (found.length === 0) lost.push(`${ref} was never decided`);
    if (found.length > 1) duplicated.push(`${ref} was decided ${found.length} times`);
    for (const effect of found) {
      if (!ends.some((end) => end === effect.state))
        lost.push(`${ref} is ${effect.state} (${effect.reason}), expected ${ends.join(' or ')}`);
    }
  }
  for (const { ref, kind, state, payload } of effects) {
    const times = accepted(ref).length;
    if (state === 'completed' && times === 0) lost.push(`${ref} is completed, but no provider accepted it`);
    if (state !== 'completed' && ENDED.includes(state) && times > 0)
      duplicated.push(`${ref} is ${state}, but was accepted`);
    if (times > 1 && kind !== 'natural') duplicated.push(`${ref} was accepted ${times} times`);
    if (accepted(ref).some(({ body, kind: of }) => of !== 'mail' && body !== payload))
      wrong.push(`${ref} was accepted with another content`);
  }
  for (const { ref } of book)
    if (!effects.some((effect) => effect.ref === ref)) duplicated.push(`${ref} was sent, but never decided`);
  return {
    lost,
    duplicated,
    unattended,
    wrong: [...wrong, ...outOfOrder(path.order ?? [], book), ...(await torn(stage))],
    unknown: effects.filter(({ unknown }) => unknown).length,
    reconciled: effects.filter(({ unknown, state }) => unknown && ENDED.includes(state)).length,
  };
}

const EFFECTS = `select s.name as ref, s.kind, s.state, coalesce(s.ended_reason, s.blocked_by) as reason, e.payload, s.state = 'unknown' or a.unknown as unknown
  from comanda.effect_state s join comanda.effect e on e.id = s.effect_id
  cross join lateral (select coalesce(bool_or(x.phase = 'look' or x.outcome = 'unknown'), false) as unknown
    from comanda.attempt x where x.effect_id = s.effect_id) a
  order by s.effect_id`;

/** Nothing of an earlier effect is accepted after something of a later one: a state that is put again would overwrite a newer one. */
function outOfOrder(order: readonly string[], book: readonly BookEntry[]): readonly string[] {
  const isOf = (ref: string) => (entry: BookEntry) => entry.event === 'accepted' && entry.ref === ref;
  return order.flatMap((ref, i) =>
    order.slice(i + 1).flatMap((later) => {
      const first = book.findIndex(isOf(later));
      return first >= 0 && book.findLastIndex(isOf(ref)) > first ? [`${ref} was accepted after ${later}`] : [];
    }),
  );
}

/** The caller's own state and its decision belong together, at every moment: asked right after a kill, before anybody repeats anything, and at the end. */
export async function torn(stage: Stage): Promise<readonly string[]> {
  const rows = await stage.query<{ refunded: boolean; decided: boolean }>(
    `select o.status = 'refunded' as refunded, exists (select from comanda.run where key = 'order') as decided from shop.orders o`,
  );
  return rows.some(({ refunded, decided }) => refunded !== decided)
    ? ['the order and its decision are torn apart']
    : [];
}
