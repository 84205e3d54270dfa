import { age, count, moment, quoted, sentence } from './phrases.js';
import type { RunRow } from './rows.js';

/** One line: how far the decision is. */
export function headline(run: RunRow): string {
  const open = `${run.open_effects} of ${count(run.effects, 'effect')} unfinished`;
  const said: Readonly<Record<string, string>> = {
    processing: 'somebody works on it now; nothing is decided yet',
    decided: run.effects === 0 ? 'decided; it implies no effect' : `decided; ${open}`,
    approved: `approved by a person; ${open}`,
    awaiting_human: 'waits for a person to approve it',
    denied: 'denied by a policy or a switch; nothing was sent',
    rejected: 'rejected by a person; nothing was sent',
    expired: 'nobody answered in time; nothing was sent',
    cancelled: 'cancelled; nothing was sent',
    completed: `completed${run.effects === 0 ? '' : `: ${run.effects === 1 ? 'its effect has' : `its ${run.effects} effects have`} ended`}`,
    failed_retryable: 'failed, and will be tried again',
    failed_terminal: 'failed: at least one effect is a dead letter',
  };
  return said[run.state] ?? run.state;
}

/** Who decided, when, about what, why, and what it was made by. */
export function decisionSentences(run: RunRow): readonly string[] {
  const by = run.actor_type === null ? 'nobody in particular (it names no actor)' : actorPhrase(run);
  const model = [
    run.model === null
      ? undefined
      : `model ${run.model}${run.model_revision === null ? '' : `, revision ${run.model_revision}`}`,
    run.endpoint_class === null ? undefined : `endpoint class ${run.endpoint_class}`,
    run.validation === null ? undefined : `validation: ${run.validation}`,
    run.repairs === null ? undefined : count(run.repairs, 'repair'),
  ].filter((part) => part !== undefined);
  return [
    `Decided ${moment(run.decided_at)}, ${age(run.decided_ms_ago)} ago, by ${by}.`,
    run.subject === '' ? undefined : `It is about ${run.subject}.`,
    run.reason === null ? undefined : sentence(`Reason: ${quoted(run.reason)}`),
    run.trigger_origin === null ? undefined : `Triggered by ${run.trigger_origin}.`,
    run.tenant === null ? undefined : `Tenant: ${run.tenant}.`,
    run.workflow_version === null ? undefined : `Workflow version: ${run.workflow_version}.`,
    model.length === 0 ? undefined : `Made with ${model.join('; ')}.`,
    run.supersedes_key === null ? undefined : `It replaces the decision ${run.supersedes_key}.`,
    run.superseded_by_key === null ? undefined : `It was replaced by the decision ${run.superseded_by_key}.`,
  ].filter((sentence) => sentence !== undefined);
}

/** `agent refund-bot, on behalf of human ana`. */
function actorPhrase(run: RunRow): string {
  const chain = chainOf(run).map(({ type, id }) => `${type} ${id}`);
  return [`${run.actor_type} ${run.actor_id ?? ''}`.trim(), ...chain].join(', on behalf of ');
}

/** One link of the chain of actors. */
export interface Link {
  readonly type: string;
  readonly id: string;
}

/** On whose behalf the actor acted, nearest first. What has another shape is left out: the chain is only shown and compared. */
export function chainOf(run: Pick<RunRow, 'on_behalf_of'>): readonly Link[] {
  const links: Link[] = [];
  let level: unknown = run.on_behalf_of === null ? null : parsed(run.on_behalf_of);
  while (typeof level === 'object' && level !== null && links.length < 20) {
    const { type, id, onBehalfOf } = level as Readonly<Record<string, unknown>>;
    links.push({ type: String(type), id: String(id) });
    level = onBehalfOf;
  }
  return links;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
