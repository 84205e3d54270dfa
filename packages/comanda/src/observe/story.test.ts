import { describe, expect, test } from 'vitest';
import type { AttemptRow, EffectRow, OutcomeRow, RelayRow, RequestRow, RunRow, SwitchRow } from './rows.js';
import { buildStory, type EffectStory, type StorySource } from './story.js';

const run: RunRow = {
  run_id: '1',
  key: 'refund:ORD-1',
  subject: 'order:ORD-1',
  kind: null,
  actor_type: 'human',
  actor_id: 'ana',
  on_behalf_of: null,
  by_agent: false,
  tenant: null,
  reason: null,
  trigger_origin: null,
  workflow_version: null,
  endpoint_class: null,
  model: null,
  model_revision: null,
  validation: null,
  repairs: null,
  state: 'decided',
  effects: 1,
  open_effects: 1,
  attempts: 0,
  failure_class: null,
  lease_owner: null,
  supersedes_key: null,
  superseded_by_key: null,
  decided_at: '2026-05-01T10:00:00.000Z',
  decided_ms_ago: 200_000,
  now: '2026-05-01T10:03:20.000Z',
  effect_ids: ['7'],
};

const effect: EffectRow = {
  effect_id: '7',
  run_key: 'refund:ORD-1',
  name: 'issue_refund',
  kind: 'issue_refund',
  kind_version: 1,
  target: 'payments',
  state: 'pending',
  waits_for: null,
  subject: 'order:ORD-1',
  subject_version: null,
  ordering_key: null,
  idempotency_key: 'refund:ORD-1/issue_refund',
  attempts: 0,
  max_attempts: 8,
  idempotency: 'key',
  risk: 'irreversible',
  blocked_by: null,
  relay: null,
  fence: null,
  provider_id: null,
  approval_id: null,
  prerequisite_id: null,
  created_at: '2026-05-01T10:00:00.000Z',
  age_ms: 200_000,
  next_at: null,
  next_in_ms: null,
  parked_at: null,
  parked_ms: null,
  ended_at: null,
  ended_by: null,
  ended_reason: null,
  payload_bytes: 2,
  payload: '{}',
  headers: null,
};

const attempt: AttemptRow = {
  effect_id: '7',
  fence: '3',
  phase: 'end',
  attempt: 1,
  owner: 'relay-198331ab-082a-4613-a008-4d26eeb28c32',
  outcome: 'completed',
  provider_id: null,
  status: null,
  error_class: null,
  error_text: null,
  duration_ms: 120,
  at: '2026-05-01T10:00:01.000Z',
  ms_ago: 199_000,
};

const request: RequestRow = {
  request_id: '1',
  effect_id: '7',
  action: 'cancel',
  resolve_as: null,
  provider_id: null,
  requested_by: 'ana',
  reason: 'wrong order',
  answer: null,
  requested_at: '2026-05-01T10:00:05.000Z',
  answered_at: null,
};

const outcome: OutcomeRow = {
  effect_id: '7',
  fence: '9',
  state: 'completed',
  settled_by: 'ana',
  reason: 'seen at the bank',
  attempts: 1,
  provider_id: 're_1',
  maybe_applied: false,
  settled_at: '2026-05-01T10:02:00.000Z',
};

const relay: RelayRow = {
  id: 'r1',
  kinds: ['issue_refund'],
  software_version: null,
  schema_version: 1,
  switch_version: '1',
  started_at: '2026-05-01T09:00:00.000Z',
  beat_at: '2026-05-01T10:03:20.000Z',
  silent_ms: 300,
  live: true,
};

const off = (scope: string, mode: SwitchRow['mode'] = 'stop'): SwitchRow => ({
  scope,
  mode,
  reason: 'wrong amounts',
  owner_name: null,
  backup_name: null,
  set_by: 'bob',
  version: '2',
  set_at: '2026-05-01T10:01:20.000Z',
  set_ms_ago: 120_000,
});

interface Parts {
  readonly run?: Partial<RunRow>;
  readonly effect?: Partial<EffectRow>;
  readonly attempts?: readonly Partial<AttemptRow>[];
  readonly requests?: readonly Partial<RequestRow>[];
  readonly outcomes?: readonly Partial<OutcomeRow>[];
  readonly heads?: readonly EffectRow[];
  readonly switches?: readonly SwitchRow[];
  readonly relays?: readonly RelayRow[];
}

function source(parts: Parts): StorySource {
  return {
    run: { ...run, ...parts.run },
    file: {
      effects: [{ ...effect, ...parts.effect }],
      attempts: (parts.attempts ?? []).map((row) => ({ ...attempt, ...row })),
      requests: (parts.requests ?? []).map((row) => ({ ...request, ...row })),
      outcomes: (parts.outcomes ?? []).map((row) => ({ ...outcome, ...row })),
    },
    heads: parts.heads ?? [],
    switches: parts.switches ?? [],
    relays: parts.relays ?? [relay],
  };
}

const story = (parts: Parts) => buildStory(source(parts));

function effectStory(parts: Parts): EffectStory {
  const [first] = story(parts).effects;
  if (first === undefined) throw new Error('the story has no effect');
  return first;
}

const events = (parts: Parts): readonly string[] => effectStory(parts).events.map(({ text }) => text);
const next = (parts: Parts): string => effectStory(parts).next.join(' ');
const commands = (parts: Parts): readonly string[] => effectStory(parts).advice.map(({ command }) => command);

describe('the decision', () => {
  test('who, when and about what', () => {
    expect(story({}).decision).toEqual([
      'Decided 2026-05-01 10:00:00 UTC, 3m 20s ago, by human ana.',
      'It is about order:ORD-1.',
    ]);
  });

  test('the whole chain of actors, and what the decision was made with', () => {
    const { decision } = story({
      run: {
        actor_type: 'agent',
        actor_id: 'bot',
        by_agent: true,
        on_behalf_of: JSON.stringify({ type: 'human', id: 'ana', onBehalfOf: { type: 'system', id: 'shop' } }),
        reason: 'Sent back in time.',
        trigger_origin: 'webhook:orders',
        tenant: 'eu',
        workflow_version: 'flow@3',
        model: 'm',
        model_revision: '2',
        endpoint_class: 'eu',
        validation: 'ok',
        repairs: 1,
        supersedes_key: 'refund:ORD-0',
      },
    });
    expect(decision).toEqual([
      'Decided 2026-05-01 10:00:00 UTC, 3m 20s ago, by agent bot, on behalf of human ana, on behalf of system shop.',
      'It is about order:ORD-1.',
      'Reason: "Sent back in time."',
      'Triggered by webhook:orders.',
      'Tenant: eu.',
      'Workflow version: flow@3.',
      'Made with model m, revision 2; endpoint class eu; validation: ok; 1 repair.',
      'It replaces the decision refund:ORD-0.',
    ]);
  });

  test('a chain of another shape is not trusted and does not harm', () => {
    for (const on_behalf_of of ['"text"', '[1]', 'no json', '{"type":1}']) {
      expect(story({ run: { on_behalf_of } }).decision[0]).toMatch(/^Decided .* by human ana/);
    }
  });

  test.each([
    [{ state: 'decided' }, 'decided; 1 of 1 effect unfinished'],
    [{ state: 'decided', effects: 0, open_effects: 0 }, 'decided; it implies no effect'],
    [{ state: 'completed', effects: 2, open_effects: 0 }, 'completed: its 2 effects have ended'],
    [{ state: 'failed_terminal' }, 'failed: at least one effect is a dead letter'],
    [{ state: 'rejected' }, 'rejected by a person; nothing was sent'],
    [{ state: 'expired' }, 'nobody answered in time; nothing was sent'],
    [{ state: 'denied' }, 'denied by a policy or a switch; nothing was sent'],
  ])('%j is "%s"', (state, text) => {
    expect(story({ run: state }).headline).toBe(text);
  });
});

describe('what happened', () => {
  test('each try with what the provider said', () => {
    const tries = events({
      effect: { state: 'completed' },
      attempts: [
        { outcome: 'retry', status: 503, error_class: 'http_503', error_text: 'busy\nnow' },
        { attempt: 2, fence: '4', at: '2026-05-01T10:00:03.000Z', status: 200, provider_id: 're_1' },
      ],
      outcomes: [{ fence: '4', settled_by: 'r1' }],
    });
    expect(tries).toEqual([
      'attempt 1 ended without a confirmed success in 120ms: status 503, "busy now"',
      'attempt 2 completed in 120ms: status 200; the provider calls it re_1',
    ]);
  });

  test('a start without an end is under way only under the present fence', () => {
    const start = { phase: 'start', outcome: null, duration_ms: null } as const;
    const text = (e: Partial<EffectRow>): readonly string[] => events({ effect: e, attempts: [start] });
    expect(text({ state: 'sending', fence: '3' })).toEqual([
      'attempt 1 was started by relay-198331ab and is under way',
    ]);
    expect(text({ state: 'sending', fence: '4' })).toEqual([
      'attempt 1 was started by relay-198331ab and never ended here: it may have reached the provider',
    ]);
    expect(events({ attempts: [start, {}] })).toEqual(['attempt 1 completed in 120ms']);
  });

  test('look-ups, late answers and uncertain ends', () => {
    expect(
      events({
        attempts: [
          { outcome: 'unknown', error_class: 'timeout', error_text: 'no answer' },
          { phase: 'look', outcome: 'cannot_tell', at: '2026-05-01T10:00:02.000Z' },
          { phase: 'look', outcome: 'absent', at: '2026-05-01T10:00:03.000Z', status: 404 },
          { phase: 'late', fence: '2', provider_id: 're_9', at: '2026-05-01T10:00:04.000Z' },
          { phase: 'look', outcome: 'applied', at: '2026-05-01T10:00:05.000Z', provider_id: 're_9' },
        ],
      }),
    ).toEqual([
      'attempt 1 ended without a known outcome in 120ms: timeout, "no answer"; it may have happened',
      'looked it up at the provider, which could not tell',
      'looked it up at the provider: it had not happened: status 404',
      'relay-198331ab, which had lost its lease, reported attempt 1 as completed; the provider calls it re_9; kept as evidence',
      'looked it up at the provider: it had happened; the provider calls it re_9',
    ]);
  });

  test('who asked for what, and the answer, in the order of time', () => {
    expect(
      events({
        attempts: [{ at: '2026-05-01T10:00:06.000Z' }],
        requests: [{ answer: 'too late', answered_at: '2026-05-01T10:00:07.000Z' }],
      }),
    ).toEqual([
      'ana asked to cancel it: "wrong order"',
      'attempt 1 completed in 120ms',
      'the answer to "cancel": too late',
    ]);
    expect(events({ requests: [{ reason: null, requested_by: null }] })).toEqual([
      'somebody asked to cancel it; not answered yet',
    ]);
  });

  test("an ending on a person's word", () => {
    expect(
      events({
        requests: [
          {
            action: 'resolve',
            resolve_as: 'completed',
            provider_id: 're_1',
            answer: 'resolved as completed',
            answered_at: '2026-05-01T10:01:59.000Z',
          },
        ],
        outcomes: [{}],
      }),
    ).toEqual([
      'ana asked to settle it as completed (the provider calls it re_1): "wrong order"',
      'the answer to "resolve": resolved as completed',
      'ended as completed by ana: "seen at the bank"; the provider calls it re_1',
    ]);
  });

  test('a person who said that it was not applied is not a look-up', () => {
    expect(
      events({
        requests: [{ action: 'resolve', resolve_as: 'pending' }],
        attempts: [
          {
            phase: 'look',
            outcome: 'absent',
            owner: 'ana',
            error_text: 'asked the bank',
            at: '2026-05-01T10:01:00.000Z',
          },
        ],
      })[1],
    ).toBe('ana said that it was not applied: "asked the bank"');
  });
});

describe('what happens next', () => {
  const soon = { next_at: '2026-05-01T10:03:40.000Z', next_in_ms: 20_000 };

  test.each<[string, Parts, string | RegExp]>([
    ['due', {}, 'It is due: the next relay with room takes it.'],
    ['backing off', { effect: { attempts: 1, ...soon } }, 'The next attempt is at 2026-05-01 10:03:40 UTC (in 20s).'],
    [
      'delayed',
      { effect: { state: 'waiting', waits_for: 'delayed', ...soon } },
      /delayed until .* \(in 20s\); then it takes its place/,
    ],
    ['in its window', { effect: { state: 'waiting', waits_for: 'window', ...soon } }, /taken back exactly until/],
    ['held', { effect: { state: 'waiting', waits_for: 'held', ...soon } }, /until a person approves it/],
    [
      'held by another effect',
      { effect: { state: 'waiting', waits_for: 'held', prerequisite_id: '5' } },
      'It is held until effect 5 has completed.',
    ],
    [
      'sending',
      { effect: { state: 'sending', relay: 'r1', ...soon } },
      /^r1 is executing it now, under a lease until .* another one takes over/,
    ],
    ['sending, lease over', { effect: { state: 'sending', relay: 'r1', next_in_ms: -1 } }, /its lease has run out/],
    ['nobody there', { relays: [] }, 'No relay is live, so nothing moves; nothing is lost meanwhile.'],
    ['silent relay', { relays: [{ ...relay, live: false }] }, /No relay is live/],
    ['nobody who can', { relays: [{ ...relay, kinds: ['mail'] }] }, /No live relay can execute the kind issue_refund/],
    [
      'switched off',
      { switches: [off('kind:issue_refund')] },
      'It is held by the switch: kind:issue_refund is on "stop" since 2m, set by bob (wrong amounts).',
    ],
    ['parked', { effect: { blocked_by: 'switch:kind:x' } }, 'Its lane is parked (switch:kind:x).'],
    [
      'unknown, looked up',
      { effect: { state: 'unknown', ...soon } },
      /A relay looks it up at the provider at .*; it is not sent again before that/,
    ],
    [
      'unknown, a person',
      { effect: { state: 'unknown', blocked_by: 'unknown: ask', parked_ms: 60_000 } },
      /Nothing happens by itself.*waited for 1m/,
    ],
    ['failed', { effect: { state: 'failed' } }, 'It is a dead letter: nothing happens by itself.'],
    [
      'failed, blocking',
      { effect: { state: 'failed', ordering_key: 'o', parked_at: '2026-05-01T10:00:00.000Z' } },
      /everything of the ordering key o waits behind it/,
    ],
    ['completed', { effect: { state: 'completed' } }, ''],
  ])('%s', (_, parts, text) => {
    expect(next(parts)).toEqual(typeof text === 'string' ? text : expect.stringMatching(text));
  });

  test('behind another effect, which is named with its state', () => {
    const head: EffectRow = { ...effect, effect_id: '5', run_key: 'refund:ORD-0', state: 'unknown' };
    expect(next({ effect: { blocked_by: 'behind effect 5', ordering_key: 'o' }, heads: [head] })).toBe(
      'It stands behind effect 5 (refund:ORD-0/issue_refund), which is unknown: effects of the ordering key o happen one after the other.',
    );
  });

  test("an agent's effect that nobody takes: the floor of the relays is worth a look", () => {
    expect(next({ run: { by_agent: true } })).toMatch(/An agent decided it, .*AI_ACTIONS_ENABLED/);
    expect(next({ run: { actor_type: null } })).toMatch(/No named actor decided it/);
    expect(next({ run: { by_agent: true }, effect: { age_ms: 2_000 } })).not.toMatch(/AI_ACTIONS/);
  });

  test.each<[string, Partial<RunRow>]>([
    ['all', {}],
    ['target:payments', {}],
    ['tenant:eu', { tenant: 'eu' }],
    ['actor:human', {}],
    ['actor:agent', { by_agent: true }],
    ['agent:bot', { actor_type: 'agent', actor_id: 'bot' }],
    [
      'agent:deep',
      { on_behalf_of: JSON.stringify({ type: 'human', id: 'ana', onBehalfOf: { type: 'agent', id: 'deep' } }) },
    ],
  ])('the scope %s holds it', (scope, who) => {
    expect(next({ run: who, switches: [off(scope), off('tenant:us'), off('agent:ana')] })).toMatch(
      `It is held by the switch: ${scope} is on`,
    );
    expect(next({ run: who, switches: [off(scope, 'run')] })).not.toMatch('switch');
  });
});

describe('what a person can do', () => {
  test.each<[string, Parts, readonly string[]]>([
    ['pending', {}, ['comanda effects cancel refund:ORD-1 issue_refund --by YOU --reason WHY']],
    [
      'a key for the shell',
      { effect: { run_key: "it's", name: '$x' } },
      [`comanda effects cancel 'it'\\''s' '$x' --by YOU --reason WHY`],
    ],
    [
      'switched off',
      { switches: [off('all')] },
      [
        'comanda switch run all --by YOU --reason WHY',
        'comanda effects cancel refund:ORD-1 issue_refund --by YOU --reason WHY',
      ],
    ],
    [
      'no relay',
      { relays: [] },
      ['comanda relay --config FILE', 'comanda effects cancel refund:ORD-1 issue_refund --by YOU --reason WHY'],
    ],
    [
      'unknown',
      { effect: { state: 'unknown', blocked_by: 'x' } },
      ['completed --provider-id ID', 'pending', 'failed'].map(
        (as) => `comanda effects resolve 7 --as ${as} --by YOU --reason WHY`,
      ),
    ],
    ['unknown, looked up by itself', { effect: { state: 'unknown' } }, []],
    ['failed', { effect: { state: 'failed' } }, ['comanda effects redrive 7 --by YOU --reason WHY']],
    [
      'failed, blocking',
      { effect: { state: 'failed', ordering_key: 'o', parked_at: 'x' } },
      ['comanda effects redrive 7 --by YOU --reason WHY', 'comanda effects skip 7 --by YOU --reason WHY'],
    ],
    ['completed', { effect: { state: 'completed' } }, []],
  ])('%s', (_, parts, expected) => {
    expect(commands(parts)).toEqual(expected);
  });
});
