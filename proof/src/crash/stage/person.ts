import type { Stage } from './stage.js';

/** Kinds whose target knows no key and cannot be asked. All others have to help themselves, unless the provider refuses them. */
const ASKS: readonly string[] = ['ask_human', 'mail'];

/**
 * The person who is asked when nobody else can know: reads the provider's book and says what became of the effect, with evidence.
 * Answers how many were cleared up.
 */
export async function clearUp(stage: Stage): Promise<number> {
  const waiting = await stage.query<{ id: string; ref: string; kind: string }>(
    `select s.effect_id::text as id, s.name as ref, s.kind from comanda.effect_state s
      where s.state = 'unknown' and s.blocked_by like 'unknown%'
        and not exists (select from comanda.effect_request q where q.effect_id = s.effect_id and q.action = 'resolve' and q.answer is null)`,
  );
  for (const { id, ref, kind } of waiting) {
    if (!ASKS.includes(kind) && !stage.refuses)
      stage.wrong(`a person had to say what became of ${ref}, which is ${kind}`);
    const found = (await stage.book()).find((entry) => entry.event === 'accepted' && entry.ref === ref);
    await stage.query('select * from comanda.request($1::text::jsonb)', {
      effect: Number(id),
      action: 'resolve',
      ...(found === undefined ? { as: 'pending' } : { as: 'completed', providerId: found.id }),
      by: 'ana@cumbre.example',
      reason: found === undefined ? 'not in the book of the provider' : 'found in the book of the provider',
    });
  }
  return waiting.length;
}
