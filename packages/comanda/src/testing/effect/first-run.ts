import type { EffectKind } from '../../ports/effect-kind.js';
import { bookOf } from '../provider/registered.js';
import type { ProviderDouble } from '../provider/types.js';
import { judgeScene } from './judge.js';
import type { Life } from './life.js';
import type { Found } from './report.js';
import { lastWord } from './words.js';

/** What is already wrong when nothing goes wrong. */
export function firstProblems(kind: EffectKind, provider: ProviderDouble, life: Life): readonly Found[] {
  const { standing } = life.effect;
  const manners = judgeScene(
    { expects: { end: 'applied' } },
    { kind, provider, baseline: { requests: [], acts: provider.accepted.length, contents: new Map() }, looksUp: false },
    [life],
  );
  const performed = life.calls.filter(({ of }) => of === 'perform').length;
  if (life.calls.length === 0)
    return [
      [
        'invalid-input',
        `the handler was never called: ${standing?.reason ?? 'it did not come to its turn'}; give an input that fits the kind's schema`,
      ],
    ];
  if (standing?.state !== 'completed')
    return [
      [
        'does-not-complete',
        `with a provider that works, the effect does not complete (${standing?.reason ?? 'it never ends'}); ${lastWord(life)}`,
      ],
    ];
  if (provider.accepted.length === 0)
    return [
      [
        'completed-without-act',
        `the effect is recorded as completed and the provider never acted; is the handler given provider.url? ${lastWord(life)}`,
      ],
    ];
  if (performed > 1) return [['does-not-complete', `with a provider that works, ${performed} attempts were needed`]];
  const keyless = provider.accepted.find(({ key }) => key === undefined);
  const carrier = bookOf(provider).repetition?.key?.carrier;
  if (kind.idempotency === 'key' && keyless !== undefined && carrier !== undefined) {
    const place = 'header' in carrier ? `the header ${carrier.header}` : `the body at ${carrier.body}`;
    return [
      ['no-key', `${keyless.method} ${keyless.path} carried no key in ${place}; send context.idempotencyKey there`],
    ];
  }
  return manners;
}
