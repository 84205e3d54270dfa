import { table } from './markdown.mjs';

/** What a mail server did, and what becomes of the effect. */
export function smtpTable(classification) {
  return table(
    ['what happened', 'outcome'],
    Object.values(classification).map(({ when, verdict }) => [when, outcomeText(verdict)]),
  );
}

function outcomeText({ outcome, burnsAttempt, pausesTarget }) {
  if (outcome !== 'retry') return outcome === 'failed' ? 'failed: a dead letter' : outcome;
  return [
    'retried',
    ...(pausesTarget ? ['the target is left alone for a minute'] : []),
    ...(burnsAttempt === false ? ['no attempt is lost'] : []),
  ].join('; ');
}
