import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Idempotency } from '../../ports/effect-kind.js';
import { classificationRow, classify, HTTP_CLASSIFICATION, type HttpEvent } from './classify.js';

const idempotency = fc.constantFrom<Idempotency>('key', 'natural', 'none');
const withoutAnswer = [
  'addressRefused',
  'unfit',
  'notMade',
  'unusable',
  'released',
  'notSent',
  'noAnswer',
  'refused',
] as const;
const event: fc.Arbitrary<HttpEvent> = fc.oneof(
  fc.constantFrom(...withoutAnswer).map((type): HttpEvent => ({ type, evidence: { errorClass: 'x' } })),
  fc
    .record({
      status: fc.integer({ min: 200, max: 999 }),
      wait: fc.option(fc.nat(3_600_000)),
      backoffMs: fc.nat(600_000),
    })
    .map(
      ({ wait, ...rest }): HttpEvent => ({
        type: 'status',
        evidence: {},
        ...rest,
        ...(wait === null ? {} : { retryAfterMs: wait }),
      }),
    ),
);

describe('classify', () => {
  it('every event has an outcome that keeps its evidence', () => {
    fc.assert(
      fc.property(idempotency, event, (kind, one) => {
        expect(classify(kind, one)).toMatchObject(one.evidence);
      }),
    );
  });

  it('every row decides about something', () => {
    const statuses = Array.from({ length: 800 }, (_, n) => n + 200);
    const events: HttpEvent[] = [
      ...withoutAnswer.map((type): HttpEvent => ({ type, evidence: {} })),
      ...statuses.map((status): HttpEvent => ({ type: 'status', status, backoffMs: 1, evidence: {} })),
      ...statuses.map((status): HttpEvent => ({ type: 'status', status, backoffMs: 1, retryAfterMs: 1, evidence: {} })),
      { type: 'status', status: 409, inProgress: true, backoffMs: 1, evidence: {} },
    ];
    const used = new Set(events.map((one) => classificationRow(one).id));
    expect([...used].sort()).toEqual(HTTP_CLASSIFICATION.map(({ id }) => id).sort());
  });

  it('P3: what may have happened is never sent again blindly when the target recognises no repetition', () => {
    fc.assert(
      fc.property(event, (one) => {
        const outcome = classify('none', one);
        if (outcome.outcome === 'retry') expect(outcome.notSent).toBe(true);
      }),
    );
  });

  it('a pause of the target always says how long', () => {
    fc.assert(
      fc.property(idempotency, event, (kind, one) => {
        const outcome = classify(kind, one);
        if (outcome.outcome === 'retry' && outcome.pausesTarget !== undefined)
          expect(outcome.afterMs).toBeTypeOf('number');
      }),
    );
  });
});
