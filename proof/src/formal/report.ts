import type { Found } from './checker.js';
import type { Expectation } from './configuration.js';

const TITLES: Readonly<Record<Expectation, string>> = {
  holds: 'The engine as it is built',
  caught: 'One rule taken away',
  impossible: 'Worlds in which the promise cannot be kept',
};

/** Tables in Markdown, one per expectation. `withTimes` is for a terminal: times differ from machine to machine. */
export function tables(found: readonly Found[], withTimes: boolean): string {
  return (['holds', 'caught', 'impossible'] as const)
    .map((expect) => found.filter(({ configuration }) => configuration.expect === expect))
    .filter((part) => part.length > 0)
    .map((part) => {
      const [first] = part;
      const head = ['configuration', 'what it is', 'result', 'states', ...(withTimes ? ['s'] : [])];
      const rows = part.map(({ configuration, verdict, states, seconds }) => [
        `\`${configuration.name}\``,
        configuration.about,
        configuration.search === 'cycles' ? `${verdict}, no cycles` : verdict,
        states.toLocaleString('en-US').replaceAll(',', ' '),
        ...(withTimes ? [seconds.toFixed(1)] : []),
      ]);
      const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
      return `### ${first === undefined ? '' : TITLES[first.configuration.expect]}\n\n${lines.join('\n')}`;
    })
    .join('\n\n');
}

/** One line for machines. */
export function summary(found: readonly Found[], seconds: number): Readonly<Record<string, unknown>> {
  const count = (expect: Expectation): number =>
    found.filter(({ configuration, ok }) => ok && configuration.expect === expect).length;
  return {
    configurations: found.length,
    held: count('holds'),
    caught: count('caught'),
    impossible: count('impossible'),
    states: found.reduce((sum, { states }) => sum + states, 0),
    seconds: Math.round(seconds),
    failed: found.filter(({ ok }) => !ok).map(({ configuration }) => configuration.name),
  };
}
