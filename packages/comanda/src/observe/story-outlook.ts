import { age, ahead, moment, shellWord, shortRelay } from './phrases.js';
import type { EffectRow, RelayRow, RunRow, SwitchRow } from './rows.js';
import { chainOf } from './story-decision.js';

/** An act that is open to a person, and the command for it. */
export interface Advice {
  readonly text: string;
  readonly command: string;
}

/** What happens next to an effect, and what can be done about it. */
export interface Outlook {
  readonly next: readonly string[];
  readonly advice: readonly Advice[];
}

interface Surroundings {
  readonly run: RunRow;
  readonly heads: readonly EffectRow[];
  readonly switches: readonly SwitchRow[];
  readonly relays: readonly RelayRow[];
}

const WHO = '--by YOU --reason WHY';
/** Beyond this, a due effect that nobody takes is worth an explanation. */
const OVERDUE_MS = 30_000;

/** Reads the rows the way the engine does: waiting, behind another effect, parked, backing off, due, leased, ended. */
export function outlookOf(effect: EffectRow, around: Surroundings): Outlook {
  switch (effect.state) {
    case 'waiting':
      return { next: [waitingText(effect)], advice: [cancel(effect)] };
    case 'pending':
      return pendingOutlook(effect, around);
    case 'sending':
      return {
        next: [sendingText(effect)],
        advice: [cancel(effect, 'Take it back if it turns out not to have been sent')],
      };
    case 'unknown':
      return unknownOutlook(effect, around);
    case 'failed':
      return failedOutlook(effect);
    default:
      return { next: [], advice: [] };
  }
}

function sendingText(effect: EffectRow): string {
  const who = effect.relay === null ? 'A relay' : shortRelay(effect.relay);
  if ((effect.next_in_ms ?? 0) > 0) {
    return `${who} is executing it now, under a lease until ${when(effect)}; if that relay dies, another one takes over then.`;
  }
  return `${who} was executing it, and its lease has run out: the next relay takes it over and finds out whether it was sent.`;
}

function waitingText(effect: EffectRow): string {
  if (effect.waits_for === 'held') {
    return effect.prerequisite_id === null
      ? `It is held until a person approves it, at the latest until ${when(effect)}.`
      : `It is held until effect ${effect.prerequisite_id} has completed.`;
  }
  const until = effect.waits_for === 'window' ? 'It can be taken back exactly until' : 'It is delayed until';
  return `${until} ${when(effect)}; then it takes its place.`;
}

function pendingOutlook(effect: EffectRow, around: Surroundings): Outlook {
  const scopes = stoppedScopes(effect, around);
  if (scopes.length > 0) {
    return {
      next: scopes.map(
        (s) =>
          `It is held by the switch: ${s.scope} is on "${s.mode}" since ${age(s.set_ms_ago)}, set by ${s.set_by}${s.reason === null ? '' : ` (${s.reason})`}.`,
      ),
      advice: [
        ...scopes.map((s) => ({ text: 'Let it go on', command: `comanda switch run ${shellWord(s.scope)} ${WHO}` })),
        cancel(effect),
      ],
    };
  }
  const behind = /^behind effect (\d+)$/.exec(effect.blocked_by ?? '')?.[1];
  if (behind !== undefined) return { next: [behindText(effect, behind, around)], advice: [cancel(effect)] };
  if (effect.blocked_by !== null) {
    return { next: [`Its lane is parked (${effect.blocked_by}).`], advice: [cancel(effect)] };
  }
  const noRelay = missingRelay(effect, around.relays);
  if (noRelay !== undefined) return { next: [noRelay], advice: [startRelay, cancel(effect)] };
  if ((effect.next_in_ms ?? 0) >= 1_000) {
    const again = effect.attempts === 0 ? 'The next look at it is' : 'The next attempt is';
    return { next: [`${again} at ${when(effect)}.`], advice: [cancel(effect)] };
  }
  const floor = (around.run.by_agent || around.run.actor_type === null) && effect.age_ms > OVERDUE_MS;
  return {
    next: [
      'It is due: the next relay with room takes it.',
      ...(floor
        ? [
            `It waits longer than usual. ${around.run.by_agent ? 'An agent' : 'No named actor'} decided it, and a relay whose AI_ACTIONS_ENABLED is not "true" holds such effects: see what the relay said at its start.`,
          ]
        : []),
    ],
    advice: [cancel(effect)],
  };
}

function behindText(effect: EffectRow, id: string, { heads, relays }: Surroundings): string {
  const head = heads.find((row) => row.effect_id === id);
  const what =
    head === undefined ? `effect ${id}` : `effect ${id} (${head.run_key}/${head.name}), which is ${head.state}`;
  const nobody = head === undefined ? undefined : missingRelay(head, relays);
  return `It stands behind ${what}: effects of the ordering key ${effect.ordering_key ?? '?'} happen one after the other.${nobody === undefined ? '' : ` ${nobody}`}`;
}

function unknownOutlook(effect: EffectRow, { relays }: Surroundings): Outlook {
  const resolve = (as: string, text: string): Advice => ({
    text,
    command: `comanda effects resolve ${effect.effect_id} --as ${as} ${WHO}`,
  });
  const advice = [
    resolve('completed --provider-id ID', 'The provider has it'),
    resolve('pending', 'The provider does not have it, and it is to be sent'),
    resolve('failed', 'The provider does not have it, and it is not to be sent'),
  ];
  if (effect.blocked_by === null) {
    const nobody = missingRelay(effect, relays);
    return {
      next: [
        nobody ??
          `A relay looks it up at the provider ${effect.next_in_ms === null ? 'soon' : `at ${when(effect)}`}; it is not sent again before that.`,
      ],
      advice: nobody === undefined ? [] : [startRelay],
    };
  }
  const since = effect.parked_ms === null ? '' : ` It has waited for ${age(effect.parked_ms)}.`;
  return {
    next: [
      `Nothing happens by itself: it may have happened, and a person has to look at the provider (key ${effect.idempotency_key}).${since}`,
    ],
    advice,
  };
}

function failedOutlook(effect: EffectRow): Outlook {
  const redrive: Advice = {
    text: 'Try it again, after the cause is repaired',
    command: `comanda effects redrive ${effect.effect_id} ${WHO}`,
  };
  const blocks = effect.ordering_key !== null && effect.parked_at !== null;
  if (!blocks) return { next: ['It is a dead letter: nothing happens by itself.'], advice: [redrive] };
  return {
    next: [
      `It is a dead letter at the head of its lane: everything of the ordering key ${effect.ordering_key} waits behind it.`,
    ],
    advice: [
      redrive,
      { text: 'Leave it, and let what is behind it go on', command: `comanda effects skip ${effect.effect_id} ${WHO}` },
    ],
  };
}

/** The scopes of the switch that keep an effect of this decision from being taken. */
function stoppedScopes(
  effect: Pick<EffectRow, 'kind' | 'target'>,
  { run, switches }: Pick<Surroundings, 'run' | 'switches'>,
): readonly SwitchRow[] {
  const chain = chainOf(run);
  const agents = [...chain, ...(run.actor_type === 'agent' ? [{ type: 'agent', id: run.actor_id ?? '' }] : [])].filter(
    ({ type }) => type === 'agent',
  );
  const own = new Set([
    'all',
    `kind:${effect.kind}`,
    `target:${effect.target}`,
    `tenant:${run.tenant}`,
    `actor:${run.actor_type}`,
    ...(run.by_agent ? ['actor:agent'] : []),
    ...agents.map(({ id }) => `agent:${id}`),
  ]);
  return switches.filter(({ scope, mode }) => mode !== 'run' && own.has(scope));
}

function missingRelay(effect: EffectRow, relays: readonly RelayRow[]): string | undefined {
  const live = relays.filter((relay) => relay.live);
  if (live.length === 0) return 'No relay is live, so nothing moves; nothing is lost meanwhile.';
  if (live.some((relay) => relay.kinds.includes(effect.kind))) return undefined;
  return `No live relay can execute the kind ${effect.kind}; nothing is lost meanwhile.`;
}

const startRelay: Advice = { text: 'Start a relay that knows this kind', command: 'comanda relay --config FILE' };

function cancel(effect: EffectRow, text = 'Take it back'): Advice {
  return { text, command: `comanda effects cancel ${shellWord(effect.run_key)} ${shellWord(effect.name)} ${WHO}` };
}

function when(effect: EffectRow): string {
  if (effect.next_at === null) return 'an unknown moment';
  return `${moment(effect.next_at)} (${ahead(effect.next_in_ms ?? 0)})`;
}
