import type { EffectFile } from './read.js';
import type { EffectRow, RelayRow, RunRow, SwitchRow } from './rows.js';
import { decisionSentences, headline } from './story-decision.js';
import { eventsOf, type StoryEvent } from './story-events.js';
import { type Advice, type Outlook, outlookOf } from './story-outlook.js';

/** What the story of one key is made of. */
export interface StorySource {
  readonly run: RunRow;
  readonly file: EffectFile;
  /** Heads of the lanes behind which effects of this decision stand; they may belong to other decisions. */
  readonly heads: readonly EffectRow[];
  readonly switches: readonly SwitchRow[];
  readonly relays: readonly RelayRow[];
}

/** The story of one effect. */
export interface EffectStory {
  readonly effect_id: string;
  readonly name: string;
  readonly kind: string;
  readonly target: string;
  readonly idempotency_key: string;
  readonly ordering_key: string | null;
  readonly state: EffectRow['state'];
  /** What happened, in order. */
  readonly events: readonly StoryEvent[];
  /** What happens next and when, or why nothing does. */
  readonly next: readonly string[];
  /** What a person can do. */
  readonly advice: readonly Advice[];
}

/** The story of one key in plain words. Texts of strangers are in it as they are stored: whoever shows it must escape control characters. */
export interface Story {
  readonly key: string;
  readonly headline: string;
  readonly decision: readonly string[];
  readonly effects: readonly EffectStory[];
}

/** Turns rows into sentences. Pure: every age is in the rows. */
export function buildStory(source: StorySource): Story {
  const { run, file } = source;
  return {
    key: run.key,
    headline: headline(run),
    decision: decisionSentences(run),
    effects: file.effects.map((effect) => {
      const outlook: Outlook = outlookOf(effect, source);
      return {
        effect_id: effect.effect_id,
        name: effect.name,
        kind: effect.kind,
        target: effect.target,
        idempotency_key: effect.idempotency_key,
        ordering_key: effect.ordering_key,
        state: effect.state,
        events: eventsOf(effect, file),
        next: outlook.next,
        advice: outlook.advice,
      };
    }),
  };
}
