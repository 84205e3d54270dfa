import { kindOf } from 'comanda';
import { createProviderDouble, exerciseEffect } from 'comanda/testing';
import { expect, it } from 'vitest';
import { cumbreEffects } from '../src/shop/effects.js';

it.each(['issue_refund', 'inventory_sync', 'crm_note', 'refund_mail'])('%s survives whatever happens', async (name) => {
  const provider = await createProviderDouble();
  const [payments, warehouse, crm, mail] = Array.from({ length: 4 }, () => provider.url) as [
    string,
    string,
    string,
    string,
  ];
  const kind = cumbreEffects({ payments, warehouse, crm, mail }, 'shop')
    .map(kindOf)
    .find((one) => one.kind === name);
  if (kind === undefined) throw new Error(`the shop has no kind ${name}`);
  const input = (reference: string) => ({ order: 'ORD-2041', reference });
  const report = await exerciseEffect(kind, { input, provider });
  await provider.close();
  expect(report.problems).toEqual([]);
});
