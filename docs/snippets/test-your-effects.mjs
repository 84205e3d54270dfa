// #region five-lines
import { test } from 'node:test';
import { createProviderDouble, exerciseEffect } from 'comanda/testing';
import { httpEffect } from 'comanda/transports/http';

const refund = (payments) =>
  httpEffect({
    kind: 'issue_refund',
    risk: 'irreversible',
    idempotency: 'key',
    onUnknown: 'ask-human',
    allowPrivateAddresses: ['127.0.0.1'],
    request: { url: `${payments}/refunds` },
  });

test('a refund survives whatever happens', async () => {
  const provider = await createProviderDouble();
  const report = await exerciseEffect(refund(provider.url), { input: { order: 'ORD-2041' }, provider });
  await provider.close();
  report.assert();
});
// #endregion
