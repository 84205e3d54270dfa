import { table } from './markdown.mjs';

/** What a mail server did, and what becomes of the effect. */
export function smtpTable(classification) {
  return table(
    ['what happened', 'outcome'],
    Object.values(classification).map(({ when, verdict }) => [when, outcomeText(verdict)]),
  );
}

function outcomeText({ outcome, burnsAttempt, breaksTarget, pausesTarget }) {
  if (outcome !== 'retry') return outcome === 'failed' ? 'failed: a dead letter' : outcome;
  return [
    'retried',
    ...(breaksTarget ? ["the target's breaker opens"] : []),
    ...(pausesTarget ? ['this relay leaves the target alone for a while'] : []),
    ...(burnsAttempt === false ? ['no attempt is lost'] : []),
  ].join('; ');
}
