import { systemClock } from '../kernel/clock.js';
import { toJsonText } from '../kernel/json-text.js';
import { type EffectDefinition, kindOf } from '../ports/effect-definition.js';
import type { EffectKind, PerformContext } from '../ports/effect-kind.js';
import type { Outcome } from '../ports/outcome.js';
import { isNotSent } from '../relay/outcomes.js';
import type { ConformanceCheck } from './adapter-conformance.js';
import { equal, that } from './assert.js';
import type { Fault, ProviderDouble } from './provider/types.js';

/** A transport that is to be checked, by one kind of effect that uses it. */
export interface TransportUnderTest {
  readonly effect: EffectDefinition<never> | EffectKind;
  /** What the effect is decided with. */
  readonly input: unknown;
  /** The provider to which it sends. Nothing else may talk to it meanwhile. */
  readonly provider: ProviderDouble;
  /** Credentials that the transport was given: they may stand in no outcome. */
  readonly secrets?: readonly string[];
}

/** Real milliseconds after which a transport is taken for one that hangs. */
const PATIENCE_MS = 10_000;

/**
 * The least that every transport must do, as named checks for any test runner:
 *
 * ```ts
 * for (const check of transportConformance({ effect, input, provider })) test(check.name, check.run);
 * ```
 *
 * What follows from it for an effect's whole life is what `exerciseEffect` looks at.
 */
export function transportConformance(transport: TransportUnderTest): readonly ConformanceCheck[] {
  return [...sending(transport), ...ending(transport), ...evidence(transport)];
}

function sending(transport: TransportUnderTest): readonly ConformanceCheck[] {
  const { provider } = transport;
  return [
    check(transport, 'an act that the provider takes is completed, and happens once', async (attempt) => {
      equal((await attempt()).outcome, 'completed');
      equal(provider.accepted.length, 1);
    }),
    check(transport, 'two attempts of one effect send the same key', async (attempt) => {
      await attempt();
      await attempt({ attempt: 2, fence: '2' });
      const [first, second] = provider.book.filter(({ what }) => what === 'act');
      equal(second?.key, first?.key);
      that(kindOf(transport.effect).idempotency !== 'key' || first?.key !== undefined, 'no key came with the act');
    }),
    check(transport, 'a refused connection is a retry that was certainly not sent', async (attempt) => {
      await provider.down(true);
      notSent(await attempt().finally(() => provider.down(false)));
    }),
    check(transport, 'nothing is sent when its signal has fired before', async (attempt) => {
      notSent(await attempt({ signal: AbortSignal.abort(new Error('the lease was lost')) }));
      equal(acts(provider), 0);
    }),
    check(transport, 'nothing is sent after the moment until which it may be sent', async (attempt) => {
      notSent(await attempt({ sendBy: systemClock.monotonicMs() - 1 }));
      equal(acts(provider), 0);
    }),
  ];
}

function ending(transport: TransportUnderTest): readonly ConformanceCheck[] {
  const { provider } = transport;
  const open = (name: string, fault: Fault): ConformanceCheck =>
    check(transport, `${name} leaves the outcome open`, async (attempt) => {
      provider.next(fault);
      mayBeApplied(transport, await attempt());
    });
  const ends = (name: string, reason: Error): ConformanceCheck =>
    check(
      transport,
      `${name} ends an attempt that waits for its answer, and leaves the outcome open`,
      async (attempt) => {
        provider.next('silent-after');
        const stop = new AbortController();
        const off = provider.onHold(() => stop.abort(reason));
        mayBeApplied(transport, await attempt({ signal: stop.signal }).finally(off));
      },
    );
  return [
    open('a connection that breaks before the provider acts', 'reset-before'),
    open('a connection that breaks after the provider acted', 'reset-after'),
    ends('the signal of a lost lease', new Error('the lease was lost')),
    ends('the signal of the timeout', new DOMException('no answer within 20000 ms', 'TimeoutError')),
    check(transport, 'a refusal for good is failed', async (attempt) => {
      provider.next({ status: 400 });
      equal((await attempt()).outcome, 'failed');
    }),
    check(transport, 'an answer that cannot be read is no proof that nothing was done', async (attempt) => {
      provider.next('malformed');
      const outcome = await attempt();
      if (outcome.outcome !== 'completed') mayBeApplied(transport, outcome);
    }),
    ...(provider.protocol === 'http' ? [endless(transport)] : []),
  ];
}

function endless(transport: TransportUnderTest): ConformanceCheck {
  const { provider } = transport;
  return check(transport, 'an answer that does not end is given up', async (attempt) => {
    provider.next('endless');
    const outcome = await attempt();
    that(outcome.outcome !== 'failed', 'the act is failed although the provider acted');
    that(provider.book[0]?.readWithoutEnd !== true, 'it read 16 MiB of an answer that does not end');
  });
}

function evidence(transport: TransportUnderTest): readonly ConformanceCheck[] {
  const { provider, secrets = [] } = transport;
  return [
    check(transport, 'no outcome holds a credential, also when the provider repeats it', async (attempt) => {
      const body = JSON.stringify({ error: `not allowed: ${secrets.join(' ')}` });
      const faults: readonly (Fault | undefined)[] = [
        undefined,
        { status: 400, body },
        { status: 500, body },
        'reset-after',
      ];
      for (const fault of faults) {
        provider.next(fault);
        const said = JSON.stringify(await attempt());
        for (const secret of secrets) that(!said.includes(secret), `an outcome holds a credential: ${said}`);
      }
    }),
  ];
}

type Attempt = (changes?: Partial<PerformContext>) => Promise<Outcome>;

function check(
  { effect, input, provider }: TransportUnderTest,
  name: string,
  run: (attempt: Attempt) => Promise<void>,
): ConformanceCheck {
  const kind = kindOf(effect);
  const attempt: Attempt = async (changes = {}) => {
    const running = kind.perform(input, { ...contextOf(kind, input), ...changes }).catch((error: unknown) => {
      if (isNotSent(error)) return { outcome: 'retry', notSent: true } as const;
      // What the relay makes of a throw.
      return kind.idempotency === 'none'
        ? ({ outcome: 'unknown' } as const)
        : ({ outcome: 'retry', notSent: false } as const);
    });
    const enough = new AbortController();
    const late = systemClock.sleep(PATIENCE_MS, enough.signal).then((passed) => {
      if (passed) throw new Error(`the transport had not ended after ${PATIENCE_MS / 1_000} s`);
      return running;
    });
    try {
      return await Promise.race([running, late]);
    } finally {
      enough.abort();
    }
  };
  return {
    name,
    run: async () => {
      provider.clear();
      await run(attempt);
    },
  };
}

function contextOf(kind: EffectKind, input: unknown): PerformContext {
  return {
    idempotencyKey: `conformance:1/${kind.kind}`,
    attempt: 1,
    fence: '1',
    payloadText: toJsonText(input),
    signal: new AbortController().signal,
    sendBy: systemClock.monotonicMs() + kind.timeoutMs,
    timeoutMs: kind.timeoutMs,
    subject: 'order:ORD-2041',
    subjectVersion: null,
    idempotency: kind.idempotency,
    headers: {},
  };
}

function notSent(outcome: Outcome): void {
  that(
    outcome.outcome === 'retry' && outcome.notSent,
    `expected a retry that was certainly not sent, got ${JSON.stringify(outcome)}`,
  );
}

function mayBeApplied({ effect }: TransportUnderTest, outcome: Outcome): void {
  const { idempotency } = kindOf(effect);
  const open =
    outcome.outcome === 'unknown' || (idempotency !== 'none' && outcome.outcome === 'retry' && !outcome.notSent);
  that(open, `expected an outcome that may have been applied, got ${JSON.stringify(outcome)}`);
}

function acts({ book }: ProviderDouble): number {
  return book.filter(({ what }) => what === 'act').length;
}
