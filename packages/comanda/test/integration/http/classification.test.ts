import { describe, expect, it } from 'vitest';
import type { Idempotency } from '../../../src/ports/effect-kind.js';
import { httpEffect } from '../../../src/transports/http/index.js';
import { asRelay, attempt, loopback, provider } from './hostile-server.js';

const completed = { outcome: 'completed' };
const failed = { outcome: 'failed' };
const unknown = { outcome: 'unknown' };
const again = { outcome: 'retry', notSent: false };
const patience = { outcome: 'retry', notSent: true, burnsAttempt: false, pausesTarget: true };
const refused = { outcome: 'retry', notSent: true, breaksTarget: true };
const uncertain = { key: again, natural: again, none: unknown };
const always = (outcome: object) => ({ key: outcome, natural: outcome, none: outcome });

/** Written out here, not derived from the table under test. */
const EXPECTED: readonly (readonly [status: number, headers: Record<string, string>, Record<Idempotency, object>])[] = [
  [200, {}, always(completed)],
  [201, {}, always(completed)],
  [202, {}, always(completed)],
  [204, {}, always(completed)],
  [301, { location: '/login' }, always(failed)],
  [302, { location: '/login' }, always(failed)],
  [303, { location: '/login' }, always(failed)],
  [304, {}, always(failed)],
  [307, { location: '/login' }, always(failed)],
  [308, { location: '/login' }, always(failed)],
  [400, {}, always(failed)],
  [401, {}, always({ ...refused, burnsAttempt: false })],
  [402, {}, always(failed)],
  [403, {}, always(refused)],
  [404, {}, always(failed)],
  [405, {}, always(failed)],
  [408, {}, uncertain],
  [409, {}, { key: { ...again, burnsAttempt: false, afterMs: 4_000 }, natural: failed, none: failed }],
  [410, {}, always(failed)],
  [413, {}, always(failed)],
  [422, {}, always(failed)],
  [425, {}, uncertain],
  [429, {}, always({ outcome: 'retry', notSent: true, afterMs: 4_000 })],
  [429, { 'retry-after': 'soon' }, always({ outcome: 'retry', notSent: true, afterMs: 4_000 })],
  [429, { 'retry-after': '5' }, always({ ...patience, afterMs: 5_000 })],
  [500, {}, uncertain],
  [500, { 'retry-after': '5' }, uncertain],
  [501, {}, uncertain],
  [502, {}, uncertain],
  [503, {}, uncertain],
  [503, { 'retry-after': '99999999999' }, always({ ...patience, afterMs: 3_600_000 })],
  [504, {}, uncertain],
  [599, {}, uncertain],
  [799, {}, uncertain],
];

describe('every row of the classification, through a real socket', () => {
  for (const [status, headers, expected] of EXPECTED) {
    it.each(['key', 'natural', 'none'] as const)(`${status} ${JSON.stringify(headers)} for %s`, async (idempotency) => {
      const gateway = await provider((response, { url }) => {
        response.writeHead(url === '/login' ? 200 : status, headers).end(status === 204 ? '' : '{"message":"as told"}');
      });
      const effect = httpEffect({
        kind: 'issue_refund',
        risk: 'irreversible',
        idempotency,
        onUnknown: 'ask-human',
        request: { url: `${gateway.url}/refunds` },
        transport: loopback(),
      });
      const outcome = await asRelay(effect).perform({}, attempt({ attempt: 3 }));
      const { burnsAttempt, pausesTarget, breaksTarget, afterMs, ...rest } = { ...outcome } as Record<string, unknown>;
      const wanted = expected[idempotency] as Record<string, unknown>;
      expect({ burnsAttempt, pausesTarget, breaksTarget, afterMs }).toEqual({
        burnsAttempt: wanted['burnsAttempt'],
        pausesTarget: wanted['pausesTarget'],
        breaksTarget: wanted['breaksTarget'],
        afterMs: wanted['afterMs'],
      });
      expect(rest).toMatchObject({ outcome: wanted['outcome'], status });
      expect(rest['notSent']).toBe(wanted['notSent']);
      if (status >= 300) expect(rest['errorClass']).toBe(`http_${status}`);
      // H10: nobody went to the login page.
      expect(gateway.seen.map(({ url }) => url)).toEqual(['/refunds']);
    });
  }

  it('H10: a redirect is called by its name', async () => {
    const gateway = await provider((response) => response.writeHead(302, { location: '/login' }).end());
    const effect = httpEffect({
      kind: 'k',
      risk: 'reversible',
      idempotency: 'key',
      request: { url: gateway.url },
      transport: loopback(),
    });
    expect(await effect.definition.perform({}, attempt())).toMatchObject({
      outcome: 'failed',
      errorText: 'redirect refused (HTTP 302)',
    });
  });

  it('H08: a date counts from the answer’s own Date header, nonsense is ignored', async () => {
    const answers = [
      { date: 'Sun, 06 Nov 1994 08:49:30 GMT', 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' },
      { date: 'Sun, 06 Nov 1994 08:49:30 GMT', 'retry-after': 'Sunday, 06-Nov-94 08:49:37 GMT' },
      { date: 'Sun, 06 Nov 1994 08:49:30 GMT', 'retry-after': 'Sun Nov  6 08:49:37 1994' },
      { date: 'Sun, 06 Nov 1994 08:49:30 GMT', 'retry-after': 'Sun, 06 Nov 1994 08:49:00 GMT' },
      { 'retry-after': '-5' },
      { 'retry-after': '1e3' },
    ];
    const gateway = await provider((response, _, index) => response.writeHead(429, answers[index - 1]).end());
    const effect = httpEffect({
      kind: 'k',
      risk: 'reversible',
      idempotency: 'key',
      request: { url: gateway.url },
      transport: loopback(),
    });
    const waits: unknown[] = [];
    for (const _ of answers) {
      const outcome = await effect.definition.perform({}, attempt());
      waits.push(outcome.outcome === 'retry' && [outcome.afterMs, outcome.pausesTarget ?? false]);
    }
    expect(waits).toEqual([
      [7_000, true],
      [7_000, true],
      [7_000, true],
      [1_000, true],
      [1_000, false],
      [1_000, false],
    ]);
  });
});
