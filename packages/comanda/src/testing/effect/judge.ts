import { contentsOf } from './contents.js';
import type { Life } from './life.js';
import { manners } from './manners.js';
import type { Found } from './report.js';
import type { Expectation, Scenario, Stage } from './scenario.js';
import { attempts, lastWord, listed, times } from './words.js';

type Scene = Pick<Stage, 'kind' | 'provider' | 'baseline' | 'looksUp'>;

/** Compares what became of the effects of one scenario with the provider's book. */
export function judgeScene(
  scenario: Pick<Scenario, 'expects'>,
  stage: Scene,
  lives: readonly Life[],
): readonly Found[] {
  const found = lives.flatMap((life) => [
    ...endOf(scenario.expects, stage, life, lives.length),
    ...manners(stage, life),
  ]);
  const [life] = lives;
  // One reason is enough: what looks different was also done twice.
  const different = life === undefined ? [] : bytes(stage, life, lives.length);
  return [...different, ...truth(stage, lives), ...acts(stage, lives, found), ...found];
}

function acts(stage: Scene, lives: readonly Life[], found: readonly Found[]): readonly Found[] {
  const accepted = stage.provider.accepted;
  const expected = stage.baseline.acts * lives.length;
  if (accepted.length > expected)
    return [
      [
        'acted-twice',
        `the provider acted ${accepted.length} times instead of ${times(expected)}: ${listed(accepted)}; ${adviceOnTwice(stage.kind.idempotency)}`,
      ],
    ];
  const done = lives.filter(({ effect }) => effect.standing?.state === 'completed').length;
  if (accepted.length < stage.baseline.acts * done && !found.some(([check]) => check === 'does-not-complete'))
    return [
      [
        'completed-without-act',
        `${lives.length > 1 ? `${done} effects are` : 'the effect is'} recorded as completed and the provider acted ${times(accepted.length)} instead of ${times(stage.baseline.acts * done)}; ${adviceOnUndone(stage, lives)}`,
      ],
    ];
  return [];
}

function adviceOnTwice(idempotency: string): string {
  if (idempotency === 'key')
    return 'send context.idempotencyKey as it is, and nothing made anew for each attempt; the provider must remember keys as long as the kind declares';
  if (idempotency === 'natural')
    return 'the same input must lead to the same request: nothing made anew for each attempt';
  return 'declare how the provider recognises repetitions, and answer absent in reconcile only when the provider says that it does not have it';
}

function adviceOnUndone({ kind }: Scene, lives: readonly Life[]): string {
  if (lives.length > 1 && kind.idempotency === 'key')
    return 'two decisions were taken for one: the key must be context.idempotencyKey, not something made from the input';
  return 'return completed() only after an answer that says so; an error is thrown, or returned as retry() or failed()';
}

function endOf(expects: Expectation, stage: Scene, life: Life, lives: number): readonly Found[] {
  const { standing } = life.effect;
  const tries = attempts(life);
  if (standing === undefined)
    return [
      ['never-ends', `after ${life.calls.length} calls of the handler it has not come to an end; ${lastWord(life)}`],
    ];
  if (standing.state === 'failed') return failedEnd(expects, stage, life, standing.reason, lives);
  if (standing.state === 'unknown') {
    if (stage.looksUp && !expects.certain)
      return [
        [
          'cannot-tell',
          `${standing.reason}: a person is asked although the provider answers again; reconcile has to find the act by context.idempotencyKey, or answer absent when the provider does not have it`,
        ],
      ];
    if (stage.provider.book.length === 0 && expects.certain !== true && life.calls.length > 0)
      return [
        [
          'never-sent',
          `after ${tries} nothing has reached the provider, with the key ${JSON.stringify(life.facts.idempotencyKey)}. ${lastWord(life)}. Keys are free text: encode what a header cannot carry, e.g. encodeURIComponent(context.idempotencyKey)`,
        ],
      ];
    const mayAsk = expects.certain !== true && (expects.personMay === true || stage.kind.idempotency === 'none');
    if (mayAsk) return [];
    const advice =
      expects.end === 'refused'
        ? 'return failed() when the provider refuses for good'
        : expects.certain === true
          ? 'nothing was done, and that is certain: throw notSent(error), or return retry({ notSent: true })'
          : 'the provider recognises a repetition: throw, or return retry()';
    return [['needless-unknown', `a person is asked what happened, after ${tries}; ${advice}. ${lastWord(life)}`]];
  }
  return [];
}

function failedEnd(expects: Expectation, stage: Scene, life: Life, reason: string, lives: number): readonly Found[] {
  if (stage.provider.accepted.length > 0 && lives === 1)
    return [
      [
        'failed-although-applied',
        `it ends as a dead letter (${reason}) although the provider acted; return retry() or unknown() when an earlier attempt may have been applied`,
      ],
    ];
  if (expects.end === 'refused') {
    const performed = life.calls.filter(({ of }) => of === 'perform').length;
    return performed > 1
      ? [
          [
            'retried-a-refusal',
            `a refusal for good was tried ${performed} times; return failed() when the provider says that it can never succeed`,
          ],
        ]
      : [];
  }
  return expects.end === 'either'
    ? []
    : [
        [
          'gave-up',
          `it ends as a dead letter (${reason}) although the provider works again; return failed() only for what can never succeed`,
        ],
      ];
}

/** Whether what is sent stays the same. */
function bytes(stage: Scene, life: Life, lives: number): readonly Found[] {
  if (lives > 1) return [];
  const key = life.facts.idempotencyKey;
  const contents = contentsOf(stage.provider, stage.provider.book, key);
  for (const [place, seen] of contents) {
    if (seen.length <= (stage.baseline.contents.get(place) ?? 1)) continue;
    // A second request after a believed `absent` is another one by right, where nothing recognises it.
    if (stage.kind.idempotency === 'none') continue;
    const [one, other] = [seen[0] ?? '', seen.at(-1) ?? ''];
    return [
      [
        'bytes-differ',
        `attempts of one effect sent different requests to ${place}: ${difference(one, other)}; make them from the input and context.idempotencyKey alone, without the time, random values or the number of the attempt`,
      ],
    ];
  }
  return [];
}

function difference(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const cut = (text: string): string => JSON.stringify(text.slice(Math.max(at - 20, 0), at + 30));
  return `${cut(one)} and ${cut(other)}`;
}

/** Whether reconcile said the truth. */
function truth({ baseline }: Scene, lives: readonly Life[]): readonly Found[] {
  for (const { said, acceptedThen, answeredLookUps, dead } of lives.flatMap(({ calls }) => calls)) {
    if (dead || said === undefined || !('found' in said)) continue;
    const asked = answeredLookUps > 0 ? 'it was told' : 'the provider had not answered it';
    if (said.found === 'absent' && acceptedThen >= baseline.acts)
      return [
        [
          'false-absent',
          `reconcile answered absent and the provider had acted (${asked}); absent only when the provider says that it does not have it, cannotTell() for everything else`,
        ],
      ];
    if (said.found === 'applied' && acceptedThen === 0)
      return [
        [
          'false-applied',
          `reconcile answered applied and the provider had not acted (${asked}); applied only when the provider shows the act, cannotTell() when it could not be asked`,
        ],
      ];
  }
  return [];
}
