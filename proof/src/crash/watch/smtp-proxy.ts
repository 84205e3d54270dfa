import { connect, createServer, type Socket } from 'node:net';
import { type LoopbackProxy, listenOn } from './proxy.js';
import { untilTaken } from './taken.js';
import type { Tap, Victim } from './tap.js';

/** Stands between a process and a mail server; the greeting, each command and the message, each with its reply, are exchanges. */
export function startSmtpProxy(
  target: { readonly host: string; readonly port: number },
  tap: Tap,
  victim: Victim,
): Promise<LoopbackProxy> {
  const open = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const exchange = tap.exchange(victim, 'connect to the mail server');
    void exchange.before().then((go) => {
      if (go) dialogue(client, exchange);
      else client.destroy();
    });
  });

  const dialogue = (client: Socket, greeting: ReturnType<Tap['exchange']>): void => {
    const behind = connect({ ...target, noDelay: true });
    const close = (): void => {
      for (const socket of [client, behind]) socket.destroy();
    };
    for (const socket of [client, behind]) {
      open.add(socket);
      socket.on('error', close);
      socket.on('close', close);
    }
    let reply = '';
    let replied: (() => void) | undefined;
    behind.on('close', () => replied?.());
    behind.on('data', (chunk: Buffer) => {
      reply += chunk.toString('latin1');
      if (/(^|\n)\d{3} [^\n]*\n$/.test(reply)) replied?.();
    });
    const carry = async (bytes: string, exchange: ReturnType<Tap['exchange']>): Promise<string> => {
      const done = new Promise<void>((resolve) => {
        replied = resolve;
      });
      behind.write(bytes, 'latin1');
      if (bytes !== '' || reply === '') await done;
      const text = reply;
      reply = '';
      if (behind.destroyed && text === '') throw new Error('the mail server is gone');
      if (!(await exchange.sent(text.slice(0, 3)))) throw new Error('killed');
      client.write(text, 'latin1');
      await exchange.answered(() => untilTaken(client));
      return text;
    };

    let turns: Promise<unknown> = carry('', greeting).catch(close);
    let text = '';
    let inData = false;
    const next = (): string | undefined => {
      const end = inData ? text.indexOf('\r\n.\r\n') + 5 : text.indexOf('\r\n') + 2;
      if (end === (inData ? 4 : 1)) return undefined;
      const request = text.slice(0, end);
      text = text.slice(end);
      return request;
    };
    const turn = async (): Promise<void> => {
      for (let request = next(); request !== undefined; request = next()) {
        const name = inData ? 'the message' : (request.split(/[\s:]/)[0] ?? '').toUpperCase();
        const exchange = tap.exchange(victim, name);
        if (!(await exchange.before())) return close();
        const answer = await carry(request, exchange);
        inData = name === 'DATA' && answer.startsWith('354');
      }
    };
    client.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      turns = turns.then(turn).catch(close);
    });
  };
  return listenOn(server, open);
}
