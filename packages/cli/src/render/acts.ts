import type { CancelAnswer, RequestAnswer } from '../doors.js';
import { styled, visible } from './visible.js';

/** What became of a cancel. */
export function cancelLines(
  key: string,
  answers: readonly CancelAnswer[],
  suggest: (command: string) => string,
): readonly string[] {
  const said: Readonly<Record<string, string>> = {
    cancelled: 'cancelled; it was not sent',
    requested: 'asked for; its relay answers at its turn',
    'too late': 'too late: it has ended, or it may have been sent',
  };
  return [
    ...answers.map(
      ({ effect_id, name, answer }) =>
        `effect ${effect_id}  ${visible(`${key}/${name}`)}: ${visible(said[answer] ?? answer)}`,
    ),
    ...(answers.some(({ answer }) => answer === 'requested')
      ? [styled(`See the answer: ${suggest('comanda explain KEY')}`, 'dim')]
      : []),
  ];
}

/** What became of a request. */
export function requestLines(
  answers: readonly RequestAnswer[],
  anyRelay: boolean,
  suggest: (command: string) => string,
): readonly string[] {
  return answers.flatMap(({ effect_id, action, answer }) => {
    if (answer !== 'requested') return [`effect ${effect_id}: ${visible(`${action}: ${answer}`)}`];
    return [
      `effect ${effect_id}: ${visible(action)} is asked for; ${anyRelay ? 'a relay applies it within moments' : styled('no relay is live, so nothing applies it yet', 'yellow')}`,
      styled(`See the answer: ${suggest(`comanda effects show ${effect_id}`)}`, 'dim'),
    ];
  });
}
