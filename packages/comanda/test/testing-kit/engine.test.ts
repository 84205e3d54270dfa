import { eventually } from '@comanda/test-support';
import { expect, it, onTestFinished } from 'vitest';
import {
  absent,
  applied,
  cannotTell,
  completed,
  defineEffect,
  type EffectSpec,
  failed,
  notSent,
  type Outcome,
  type PerformContext,
  type ReconcileResult,
  retry,
  unknown,
} from '../../src/index.js';
import { beginLife } from '../../src/testing/effect/life.js';
import { createSkippingClock } from '../../src/testing/effect/skipping-clock.js';
import { createFakeClock, createProviderDouble } from '../../src/testing/index.js';
import { bench, counting } from '../relay/setup.js';

interface Course {
  readonly kind: string;
  readonly spec: Partial<EffectSpec<unknown, unknown>>;
  /** What the handler says, call by call; the last one goes on. */
  readonly says: readonly (Outcome | Error)[];
  readonly looks?: readonly ReconcileResult[];
}

const none = { idempotency: 'none' } as const;
const key = { idempotency: 'key' } as const;
const courses: readonly Course[] = [
  { kind: 'none-absent', spec: none, says: [unknown(), completed()], looks: [absent()] },
  { kind: 'none-cannot-tell', spec: none, says: [unknown()], looks: [cannotTell(), cannotTell(), applied()] },
  { kind: 'none-throws', spec: { ...none, onUnknown: 'ask-human' }, says: [new Error('no')] },
  {
    kind: 'none-not-sent',
    spec: none,
    says: [notSent(new Error('no')), retry({ notSent: true }), unknown(), retry({ notSent: true }), completed()],
    looks: [absent()],
  },
  { kind: 'none-word', spec: none, says: [retry(), completed()], looks: [absent()] },
  {
    kind: 'none-last',
    spec: { ...none, retry: { maxAttempts: 1 } },
    says: [unknown()],
    looks: [cannotTell(), absent()],
  },
  { kind: 'key-retries', spec: key, says: [retry({ notSent: true }), retry(), new Error('no'), completed()] },
  {
    kind: 'key-patience',
    spec: key,
    says: [retry({ notSent: true, burnsAttempt: false }), retry({ burnsAttempt: false }), completed()],
  },
  {
    kind: 'key-exhausted',
    spec: { ...key, retry: { maxAttempts: 2 } },
    says: [retry()],
    looks: [cannotTell(), absent()],
  },
  {
    kind: 'key-exhausted-sure',
    spec: { ...key, retry: { maxAttempts: 2 } },
    says: [retry({ notSent: true })],
    looks: [absent()],
  },
  {
    kind: 'key-exhausted-unsure',
    spec: { ...key, retry: { maxAttempts: 2 }, onUnknown: 'ask-human' },
    says: [retry(), retry({ notSent: true })],
  },
  { kind: 'key-unknown', spec: key, says: [unknown(), retry(), completed()], looks: [absent()] },
  { kind: 'key-failed', spec: key, says: [retry(), failed({ errorText: 'no' })] },
  { kind: 'natural-failed', spec: { idempotency: 'natural' }, says: [retry(), failed()], looks: [applied()] },
  { kind: 'natural-retries', spec: { idempotency: 'natural' }, says: [retry(), completed()] },
];

/** Long enough for a busy machine: a lease that ends before its time would be one more claim. */
const LEASE_MS = 5_000;

/** A kind that follows the course, and writes down how it was called. */
function follow({ kind, spec, says, looks }: Course, trace: string[]) {
  let performed = 0;
  let looked = 0;
  const note = (what: string, { attempt, idempotency }: PerformContext): void =>
    void trace.push(`${what} ${attempt} ${idempotency}`);
  const { retry: more, ...rest } = spec;
  return defineEffect({
    kind,
    timeout: 200,
    retry: { baseDelay: 10, maxDelay: 20, ...more },
    ...rest,
    perform: async (_input, context) => {
      note('perform', context);
      const said = says[Math.min(performed++, says.length - 1)];
      if (said instanceof Error) throw said;
      return said ?? completed();
    },
    ...(looks === undefined
      ? {}
      : {
          reconcile: async (_input: unknown, context: PerformContext) => {
            note('reconcile', context);
            return looks[Math.min(looked++, looks.length - 1)] ?? cannotTell();
          },
        }),
  });
}

it('what the memory of one effect leads to is what the engine leads to', { timeout: 120_000 }, async () => {
  const b = await bench();
  const inEngine = new Map(courses.map(({ kind }) => [kind, [] as string[]]));
  const effects = courses.map((course) => follow(course, inEngine.get(course.kind) ?? []));
  const relay = b.relay({ effects, lease: LEASE_MS, random: () => 0 });
  for (const { kind } of courses) await b.effect(kind, kind);
  await relay.start();
  const standing = new Map(
    await eventually(
      async () => {
        const rows = await b.rows<{ kind: string; state: string; parked: string | null }>(
          `select e.kind, s.state, l.parked_by as parked from comanda.effect_state s join comanda.effect e on e.id = s.effect_id
             left join comanda.effect_queue q on q.effect_id = e.id left join comanda.lane l on l.lane = q.lane`,
        );
        const over = rows.filter(({ state, parked }) => state === 'completed' || state === 'failed' || parked !== null);
        return over.length === courses.length && over.map(({ kind, state }) => [kind, state] as const);
      },
      { withinMs: 90_000, what: 'the end of every course' },
    ),
  );

  const provider = await createProviderDouble();
  onTestFinished(() => provider.close());
  for (const course of courses) {
    const trace: string[] = [];
    const kind = follow(course, trace).definition;
    const world = {
      kind,
      provider,
      clock: createSkippingClock(),
      leaseMs: LEASE_MS,
      random: () => 0,
      patienceMs: 30_000,
      kill: undefined,
    };
    const facts = { idempotencyKey: `${course.kind}/${course.kind}`, payloadText: '{}', subject: '', headers: {} };
    const end = await beginLife(world, facts).toEnd();
    expect([course.kind, end?.state, ...trace]).toEqual([
      course.kind,
      standing.get(course.kind),
      ...(inEngine.get(course.kind) ?? []),
    ]);
  }
});

it('a relay takes the clock of a test: its polls come when the clock moves', async () => {
  const b = await bench();
  const clock = createFakeClock(new Date('2026-11-30T00:00:00Z'));
  expect(new Date(clock.wallMs()).toISOString()).toBe('2026-11-30T00:00:00.000Z');
  const refund = counting('refund');
  const relay = b.relay({ effects: [refund], clock });
  await relay.start();
  await b.effect('k', 'refund');
  await eventually(async () => {
    clock.advance(100);
    return (await b.states())['k/refund'] === 'completed';
  });
  expect(clock.pending).toBeGreaterThan(0);
  const stopping = relay.stop();
  await eventually(() => {
    clock.advance(100);
    return relay.status().state === 'stopped';
  });
  await stopping;
});
