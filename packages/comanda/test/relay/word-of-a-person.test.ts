import { eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { absent, applied } from '../../src/index.js';
import { bench, counting } from './setup.js';

const state = async (b: Awaited<ReturnType<typeof bench>>, key: string) => (await b.states())[key];

describe('a word of a person is about one unknown, not about the next', () => {
  const request = (b: Awaited<ReturnType<typeof bench>>, more: Record<string, unknown>) =>
    b.rows('select * from comanda.request($1::text::jsonb)', [
      JSON.stringify({ effect: '1', action: 'resolve', as: 'pending', by: 'bob', reason: 'test', ...more }),
    ]);
  const answers = (b: Awaited<ReturnType<typeof bench>>) =>
    b.rows<{ answer: string }>('select answer from comanda.effect_request order by id');

  it('asked while it is sent again: it does not wait for the end of that send', async () => {
    const b = await bench();
    let let2nd = (): void => undefined;
    const sent: number[] = [];
    const mail = counting(
      'mail',
      async () => {
        sent.push(sent.length);
        if (sent.length === 2) await new Promise<void>((resolve) => (let2nd = resolve));
        return { outcome: 'unknown' };
      },
      { idempotency: 'none', onUnknown: 'ask-human' },
    );
    await b.effect('x', 'mail');
    await b.relay({ effects: [mail], lease: 5_000 }).start();
    await eventually(async () => (await state(b, 'x/mail')) === 'unknown', { what: 'unknown' });
    await request(b, { by: 'ana' });
    await eventually(() => sent.length === 2, { what: 'the second send' });
    await request(b, { by: 'bob' });
    await eventually(async () => (await answers(b)).every(({ answer }) => answer !== null), { what: 'both answers' });
    expect((await answers(b)).map(({ answer }) => answer)).toEqual(['resolved as pending', 'not unknown any more']);
    let2nd();
    await eventually(async () => (await state(b, 'x/mail')) === 'unknown', { what: 'unknown again' });
    await request(b, { by: 'bob', as: 'completed' });
    await eventually(async () => (await state(b, 'x/mail')) === 'completed', { what: 'the second word' });
    expect(sent).toHaveLength(2);
  });

  it('asked while the look-up runs, which leads to another send: it says nothing about that one', async () => {
    const b = await bench();
    let letLook = (): void => undefined;
    const looks: number[] = [];
    const mail = counting('mail', () => ({ outcome: 'unknown' }), {
      idempotency: 'none',
      timeout: 2_000,
      reconcile: async () => {
        looks.push(looks.length);
        if (looks.length > 1) return applied();
        await new Promise<void>((resolve) => (letLook = resolve));
        return absent();
      },
    });
    await b.effect('x', 'mail');
    await b.relay({ effects: [mail], lease: 500 }).start();
    await eventually(() => looks.length === 1, { what: 'the look-up' });
    await request(b, { as: 'failed' });
    letLook();
    await eventually(async () => (await state(b, 'x/mail')) === 'completed', { what: 'the second look-up' });
    expect([...mail.calls.values()]).toEqual([2]);
    expect((await answers(b)).map(({ answer }) => answer)).toEqual([expect.stringMatching(/^not unknown/)]);
  });

  it('a redrive asked before it ended is no redrive of the dead letter that it becomes', async () => {
    const b = await bench();
    let letGo = (): void => undefined;
    const pay = counting('pay', async () => {
      await new Promise<void>((resolve) => (letGo = resolve));
      return { outcome: 'failed' };
    });
    await b.effect('x', 'pay');
    await b.relay({ effects: [pay], lease: 5_000 }).start();
    await eventually(() => pay.calls.size === 1, { what: 'the send' });
    await request(b, { action: 'redrive', as: undefined });
    letGo();
    await eventually(async () => (await answers(b)).every(({ answer }) => answer !== null), { what: 'the answer' });
    await eventually(async () => (await state(b, 'x/pay')) === 'failed', { what: 'the end' });
    expect((await answers(b))[0]?.answer).toMatch(/^not a dead letter/);
    expect([...pay.calls.values()]).toEqual([1]);
  });
});
