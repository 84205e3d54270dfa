import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseJsonLossless } from '../../src/kernel/json-parse.js';
import { httpEffectFromJson } from '../../src/transports/http/index.js';
import { asRelay, attempt, loopback, provider } from '../integration/http/hostile-server.js';

const file = new URL('../../../../docs/snippets/effects.json', import.meta.url);
const variables = { PAYMENTS_TOKEN: 'pay-token', MAIL_TOKEN: 'mail-token' };

/** The effects of the file as a relay has them, with one place instead of the hosts of the manual. */
function effectsAt(url: string) {
  const text = readFileSync(file, 'utf8').replaceAll(/https:\/\/\w+\.example\.com/g, url);
  const { effects } = JSON.parse(text) as { readonly effects: readonly { readonly kind: string }[] };
  const transport = loopback();
  return Object.fromEntries(
    effects.map((spec) => [spec.kind, asRelay(httpEffectFromJson(spec, { variables, transport }))]),
  );
}

describe('JSON of the manual runs', () => {
  it('effects.json', async () => {
    const target = await provider((response, { url }) => {
      if (url.includes('/refunds')) response.end('{"status": "succeeded", "id": "re_1"}');
      else if (url.includes('reference=m-2')) response.writeHead(404).end();
      else response.end('{"id": "msg_1"}');
    });
    const effects = effectsAt(target.url);
    const run = (kind: string, payloadText: string) =>
      effects[kind]?.perform(parseJsonLossless(payloadText), attempt({ payloadText }));
    const look = (payloadText: string) =>
      effects['refund_mail']?.reconcile?.(parseJsonLossless(payloadText), attempt({ payloadText }));

    expect(await run('issue_refund', '{"order": "ORD-2041"}')).toMatchObject({
      outcome: 'completed',
      providerId: 're_1',
    });
    expect(await run('refund_mail', '{"reference": "m-1"}')).toMatchObject({
      outcome: 'completed',
      providerId: 'msg_1',
    });
    expect(await run('crm_profile', '{"customer": 7}')).toMatchObject({ outcome: 'completed' });
    expect(await look('{"reference": "m-1"}')).toMatchObject({ found: 'applied', providerId: 'msg_1' });
    expect(await look('{"reference": "m-2"}')).toMatchObject({ found: 'absent' });
    expect(await run('issue_refund', '{}')).toMatchObject({ outcome: 'failed', errorClass: 'validation' });
    expect(target.seen.map(({ method, url, headers }) => [method, url, headers.authorization])).toEqual([
      ['POST', '/orders/ORD-2041/refunds', 'Bearer pay-token'],
      ['POST', '/messages', 'Bearer mail-token'],
      ['PUT', '/customers/7', undefined],
      ['GET', '/messages?reference=m-1', 'Bearer mail-token'],
      ['GET', '/messages?reference=m-2', 'Bearer mail-token'],
    ]);
    expect(target.seen[0]?.headers).toMatchObject({ 'idempotency-key': 'refund:ORD-2041/issue_refund' });
    expect(target.seen[1]?.headers).toMatchObject({ 'x-reference': 'm-1' });
  });
});
