import type { ChildOptions } from '@comanda/test-support';
import { type Child, type ProviderHandle, spawnNode, startGateway, startMail } from '@comanda/test-support';

/** The long form of these tests. */
export const LONG = process.env['COMANDA_LONG'] === '1';

/** One kind of each contract: a key, natural, none with a look-up, none without. */
const KINDS = ['keyed', 'natural', 'looked', 'blind'] as const;

/** Asks an installation. */
export type Ask = <Row = Record<string, unknown>>(sql: string, params?: readonly unknown[]) => Promise<Row[]>;

/** The two provider processes that keep the books. */
export interface Judges {
  readonly gateway: ProviderHandle;
  readonly mail: ProviderHandle;
}

export async function judges(): Promise<Judges> {
  const [gateway, mail] = await Promise.all([startGateway(), startMail()]);
  return { gateway, mail };
}

/** A relay process with {@link KINDS} (see fixtures/worker-process.mjs). */
export function worker(
  url: string,
  { gateway, mail }: Judges,
  config: Record<string, unknown> = {},
  options: ChildOptions = {},
): Child {
  const file = new URL('./fixtures/worker-process.mjs', import.meta.url);
  return spawnNode(file, [JSON.stringify({ url, gateway: gateway.url, mail: mail.url, ...config })], options);
}

/** A decision with one effect of each kind. Its payload carries what the providers' books are compared by. */
export function decisionOf(key: string, kinds: readonly string[] = KINDS) {
  return {
    key,
    subject: `order:${key}`,
    actor: { type: 'system', id: 'test' } as const,
    effects: kinds.map((kind) => ({ kind, payload: { to: 'a@example.test', reference: `${key}/${kind}` } })),
  };
}

/** Whether nothing is left to do for a relay: all done, or before a person because its kind can do no better. */
export async function settled(ask: Ask): Promise<boolean> {
  const left = await ask(
    `select 1 from comanda.effect_state where state <> 'completed' and (state <> 'unknown' or kind <> 'blind') limit 1`,
  );
  return left.length === 0;
}

interface EffectRow {
  readonly reference: string;
  readonly kind: string;
  readonly state: string;
  readonly starts: number;
  readonly absent: number;
}

/**
 * What the outside judges say, against SQL: one line for everything that breaks a promise. Empty when all is well.
 * A mail that was sent twice is only forgiven with what P3 demands on record: both start rows and the `absent` between.
 *
 * @param prefix what the keys of this installation begin with, when the providers serve several
 */
export async function verdict(ask: Ask, { gateway, mail }: Judges, prefix = ''): Promise<string[]> {
  const accepted = new Map<string, number>();
  for (const entry of [...gateway.entries('accepted'), ...mail.entries('accepted')]) {
    const { reference } = JSON.parse(entry.body) as { reference: string };
    if (reference.startsWith(prefix)) accepted.set(reference, (accepted.get(reference) ?? 0) + 1);
  }
  const effects = await ask<EffectRow>(
    `select s.run_key || '/' || s.kind as reference, s.kind, s.state,
       (select count(*)::int from comanda.attempt a where a.effect_id = s.effect_id and a.phase = 'start') as starts,
       (select count(*)::int from comanda.attempt a where a.effect_id = s.effect_id and a.outcome = 'absent') as absent
     from comanda.effect_state s`,
  );
  const wrong: string[] = [];
  for (const { reference, kind, state, starts, absent } of effects) {
    const times = accepted.get(reference) ?? 0;
    accepted.delete(reference);
    const note = `${reference}: ${state}, accepted ${times} times, ${starts} start rows, ${absent} absent`;
    const uncertain = kind === 'blind' && state === 'unknown' && times <= 1;
    const recorded = kind === 'looked' && times === 2 && starts >= 2 && absent >= 1;
    if (state !== 'completed' && !uncertain) wrong.push(`not done: ${note}`);
    else if (times === 0 && !uncertain) wrong.push(`lost: ${note}`);
    else if (times > 1 && kind !== 'natural' && !recorded) wrong.push(`doubled: ${note}`);
  }
  for (const reference of accepted.keys()) wrong.push(`accepted, never decided: ${reference}`);
  for (const row of await ask('select * from comanda.unattended')) wrong.push(`unattended: ${JSON.stringify(row)}`);
  const twice = await ask('select key from comanda.run group by key having count(*) > 1');
  for (const row of twice) wrong.push(`decided twice: ${JSON.stringify(row)}`);
  return wrong;
}

/** Makes the providers slow, wrong and silent now and then, so that relays use all of their statements. */
export async function trouble({ gateway, mail }: Judges): Promise<void> {
  const rates = { acceptSlow: 0.2, error500: 0.05, acceptDrop: 0.1 };
  for (const provider of [gateway, mail]) await provider.control({ rates, slowMs: 400, seed: 1 });
}

/** Runs `work` for each item, a few at a time. */
export async function each<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const one = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}
