import { type EffectStory, type NearKey, type Story, shellWord } from 'comanda/internal';
import { heading, paragraph, stateStyle } from './format.js';
import { styled, visible } from './visible.js';

/** The story of one key as a page. */
export function storyLines(
  story: Story,
  suggest: (command: string) => string,
  columns: number | undefined,
): readonly string[] {
  return [
    heading(story.key),
    ...paragraph(`${story.headline.charAt(0).toUpperCase()}${story.headline.slice(1)}.`, columns),
    '',
    ...story.decision.flatMap((sentence) => paragraph(sentence, columns)),
    ...story.effects.flatMap((effect) => ['', ...effectLines(effect, suggest, columns)]),
  ];
}

function effectLines(
  effect: EffectStory,
  suggest: (command: string) => string,
  columns: number | undefined,
): readonly string[] {
  const to = effect.target === effect.kind ? '' : ` to ${effect.target}`;
  const what = effect.name === effect.kind ? effect.kind : `${effect.name} (${effect.kind})`;
  const order = effect.ordering_key === null ? '' : `, in order with ${effect.ordering_key}`;
  // All events of one day: the day is said once.
  const days = new Set(effect.events.map(({ at }) => at.slice(0, 10)));
  const from = days.size === 1 ? 11 : 0;
  const [day] = days;
  return [
    `${heading(`${what}${to}`)}  ${styled(visible(effect.state), ...stateStyle(effect.state))}`,
    ...paragraph(`effect ${effect.effect_id}, key ${effect.idempotency_key}${order}`, columns, '  ').map((line) =>
      styled(line, 'dim'),
    ),
    ...(days.size === 1 && day !== undefined ? [styled(`  ${day} UTC`, 'dim')] : []),
    ...effect.events.flatMap(({ at, text }) => {
      const time = at.slice(from, 23).replace('T', ' ');
      return paragraph(text, columns, ' '.repeat(time.length + 4), `  ${styled(time, 'dim')}  `);
    }),
    ...effect.next.flatMap((sentence) => paragraph(sentence, columns, '    ', '  → ')),
    ...effect.advice.flatMap(({ text, command }) => [
      styled(`  ${visible(text)}:`, 'dim'),
      // Never broken: it is there to be copied.
      `    ${visible(suggest(command))}`,
    ]),
  ];
}

/** What to say about a key that is not known. */
export function nearText(key: string, near: readonly NearKey[], suggest: (command: string) => string): string {
  const shown = near.map((n) => (n.subject === '' ? n.key : `${n.key} (about ${n.subject})`)).join(', ');
  const [first] = near;
  const hint =
    first === undefined
      ? `Check the key, the schema and the database; see what there is: ${suggest('comanda effects list')}.`
      : `Near to it: ${shown}. Try: ${suggest(`comanda explain ${shellWord(first.key)}`)}.`;
  return `No decision has the key ${key}, and none of its effects. ${hint}`;
}
