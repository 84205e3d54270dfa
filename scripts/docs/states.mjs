import { table } from './markdown.mjs';

/** A mermaid state diagram of a transition table: what it is born as, each step with the acts that take it, its ends. */
export function stateDiagram(states, initial, transitions) {
  const ends = states.filter((state) => !transitions.some(({ from }) => from === state));
  return [
    '```mermaid',
    'stateDiagram-v2',
    '  direction LR',
    ...initial.map((state) => `  [*] --> ${state}`),
    ...transitions.map(({ from, to, by }) => `  ${from} --> ${to}: ${by.join(' / ')}`),
    ...ends.map((state) => `  ${state} --> [*]`),
    '```',
  ].join('\n');
}

/** The same steps as a table, for readers and for programs without mermaid. */
export function stepTable(transitions) {
  return table(
    ['from', 'to', 'by'],
    transitions.map(({ from, to, by }) => [`\`${from}\``, `\`${to}\``, by.join(', ')]),
  );
}
