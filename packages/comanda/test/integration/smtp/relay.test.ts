import { eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { messageIdOf, type SmtpEffectDefinition, smtpEffect } from '../../../src/transports/smtp/index.js';
import { type Bench, bench } from '../../relay/setup.js';
import { type Act, drop, hostileSmtp, MESSAGE } from './hostile-smtp.js';

const KEY = 'refund:ORD-2041/refund_mail';

function mailKind(port: number, more: Partial<SmtpEffectDefinition> = {}) {
  return smtpEffect({
    kind: 'refund_mail',
    transport: { host: '127.0.0.1', port },
    onUnknown: 'ask-human',
    message: () => MESSAGE,
    timeout: '2s',
    retry: { baseDelay: 20, maxDelay: 100 },
    ...more,
  });
}

/** Acts once, and is a good server from then on. */
function once(act: Act, then: string): Act {
  let acted = false;
  return (socket, line) => {
    if (acted) return then;
    acted = true;
    return act(socket, line);
  };
}

const becomes = (b: Bench, state: string): Promise<unknown> =>
  eventually(async () => (await b.states())[KEY] === state, { what: `${KEY} to be ${state}` });

const idsOf = (messages: readonly string[]): (string | undefined)[] =>
  messages.map((message) => /^Message-ID:\s+(\S+)/im.exec(message)?.[1]);

describe('B11: the connection is lost', () => {
  it('after DATA: unknown, no resend by itself; a resend that a person asks for has the same Message-ID', async () => {
    const b = await bench();
    const server = await hostileSmtp({ dot: once(drop, '250 2.0.0 Ok: queued as 4Xk2') });
    const relay = b.relay({ effects: [mailKind(server.port)], lease: 1_000 });
    await relay.start();
    await b.effect('refund:ORD-2041', 'refund_mail');
    await becomes(b, 'unknown');
    const [row] = await eventually(
      async () => {
        const rows = await b.rows<{ effect_id: string; what: string }>(
          'select effect_id::text, what from comanda.attention',
        );
        return rows.length > 0 && rows;
      },
      { what: 'attention' },
    );
    expect(row?.what).toBe('unknown outcome');
    // Longer than lease + timeout, after which anything that would be sent again by itself would have been.
    const deadline = performance.now() + 3_500;
    await eventually(() => performance.now() > deadline, { what: 'lease + timeout' });
    expect(server.messages).toHaveLength(1);
    await b.rows('select * from comanda.request($1::text::jsonb)', [
      JSON.stringify({
        effect: row?.effect_id,
        action: 'resolve',
        as: 'pending',
        by: 'ana',
        reason: 'not in the log of the server',
      }),
    ]);
    await becomes(b, 'completed');
    const id = messageIdOf(KEY, 'cumbre.example');
    expect(idsOf(server.messages)).toEqual([id, id]);
    expect(await b.rows('select state, provider_id from comanda.outcome order by fence desc limit 1')).toEqual([
      { state: 'completed', provider_id: '4Xk2' },
    ]);
    expect(await b.unattended()).toBe(0);
  });

  it('after DATA, with a look-up: it is asked by the Message-ID, and what it found ends the effect without a second message', async () => {
    const b = await bench();
    const server = await hostileSmtp({ dot: drop });
    const asked: string[] = [];
    const reconcile: SmtpEffectDefinition['reconcile'] = (messageId) => {
      asked.push(messageId);
      return { found: 'applied', providerId: 'in-the-log' };
    };
    await b.relay({ effects: [mailKind(server.port, { reconcile, onUnknown: 'reconcile' })], lease: 1_000 }).start();
    await b.effect('refund:ORD-2041', 'refund_mail');
    await becomes(b, 'completed');
    expect(asked).toEqual([messageIdOf(KEY, 'cumbre.example')]);
    expect(server.messages).toHaveLength(1);
  });

  it('before DATA: an ordinary retry, one message', async () => {
    const b = await bench();
    const server = await hostileSmtp({ RCPT: once(drop, '250 2.1.5 fine') });
    await b.relay({ effects: [mailKind(server.port)] }).start();
    await b.effect('refund:ORD-2041', 'refund_mail');
    await becomes(b, 'completed');
    expect(server.messages).toHaveLength(1);
    expect(server.connections()).toBe(2);
    expect(await b.rows(`select outcome from comanda.attempt where phase = 'end' order by at`)).toEqual([
      { outcome: 'retry' },
      { outcome: 'completed' },
    ]);
  });
});
