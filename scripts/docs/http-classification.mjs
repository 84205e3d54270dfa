import { table } from './markdown.mjs';

const WAITS = {
  retryAfter: 'waits as long as Retry-After says',
  backoff: 'waits at least the whole back-off',
  unusable: 'waits 1 min',
};

/** The table by which answers become outcomes, row by row in the order in which they are tried. */
export function classificationTable(rows) {
  return table(
    ['row', 'when', '`key`', '`natural`', '`none`'],
    rows.map(({ id, when, key, natural, none }) => [`\`${id}\``, when, verdict(key), verdict(natural), verdict(none)]),
  );
}

function verdict({ outcome, notSent, burnsAttempt, pausesTarget, breaksTarget, wait }) {
  if (outcome !== 'retry') return `**${outcome}**`;
  const words = [
    notSent ? 'certainly not applied' : 'may be applied',
    ...(burnsAttempt === false ? ['attempt given back'] : []),
    ...(pausesTarget === true ? ['target paused'] : pausesTarget === 'here' ? ['target left to other relays'] : []),
    ...(breaksTarget === true ? ['breaker of the target opened'] : []),
    ...(wait === undefined ? [] : [WAITS[wait]]),
  ];
  return `**retry**: ${words.join(', ')}`;
}
