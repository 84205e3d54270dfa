import { connect, createServer, type Server, type Socket } from 'node:net';
import { type LoopbackProxy, listenOn } from './proxy.js';
import { answerOf, createCutter, type Message, statementOf } from './sql-messages.js';
import { statementName } from './statement-name.js';
import { untilTaken } from './taken.js';
import type { Tap, Victim } from './tap.js';

const SSL_REQUEST = 80877103;
const PROTOCOL_3 = 196608;

/** Stands between a process and PostgreSQL; each statement with its answer is one exchange. */
export function startSqlProxy(
  target: { readonly host: string; readonly port: number },
  tap: Tap,
  victim: Victim,
): Promise<LoopbackProxy> {
  const open = new Set<Socket>();
  const server: Server = createServer({ noDelay: true }, (client) => {
    const behind = connect({ ...target, noDelay: true });
    const close = (): void => {
      for (const socket of [client, behind]) {
        open.delete(socket);
        socket.destroy();
      }
    };
    for (const socket of [client, behind]) {
      open.add(socket);
      socket.on('error', close);
      socket.on('close', close);
    }
    relayStatements(client, behind, tap, victim, close);
  });
  return listenOn(server, open);
}

function relayStatements(client: Socket, behind: Socket, tap: Tap, victim: Victim, close: () => void): void {
  /** Collects what the server says until it is ready again; `undefined` while no statement is under way. */
  let answer: { readonly messages: Message[]; readonly ready: () => void } | undefined;
  let turns: Promise<void> = Promise.resolve();

  const carry = async (bytes: Buffer, name: string): Promise<void> => {
    const exchange = tap.exchange(victim, name);
    if (!(await exchange.before())) return close();
    const messages: Message[] = [];
    await new Promise<void>((resolve) => {
      answer = { messages, ready: resolve };
      behind.write(bytes);
    });
    answer = undefined;
    if (behind.destroyed) return close();
    if (!(await exchange.sent(answerOf(messages)))) return close();
    client.write(Buffer.concat(messages.map((message) => message.bytes)));
    await exchange.answered(() => untilTaken(client));
  };
  const queue = (bytes: Buffer, name: string): void => {
    turns = turns.then(() => carry(bytes, name)).catch(close);
  };

  behind.on('close', () => answer?.ready());
  const serverCutter = createCutter();
  behind.on('data', (chunk: Buffer) => {
    for (const message of serverCutter(chunk)) {
      if (answer === undefined)
        client.write(message.bytes); // a notification, or the server says goodbye
      else answer.messages.push(message);
      if (message.type === 'Z') answer?.ready();
    }
  });

  let greeted = false;
  let greeting = Buffer.alloc(0);
  const cutter = createCutter();
  let batch: Message[] = [];
  const onMessages = (messages: readonly Message[]): void => {
    for (const message of messages) {
      if (message.type === 'X') {
        turns = turns.then(() => void behind.end(message.bytes)).catch(close);
        continue;
      }
      batch.push(message);
      if (message.type !== 'S' && message.type !== 'Q') continue;
      const { sql, params } = statementOf(batch);
      queue(Buffer.concat(batch.map(({ bytes }) => bytes)), statementName(sql, params));
      batch = [];
    }
  };
  client.on('data', (chunk: Buffer) => {
    if (greeted) return onMessages(cutter(chunk));
    greeting = Buffer.concat([greeting, chunk]);
    if (greeting.length < 8 || greeting.length < greeting.readInt32BE(0)) return;
    const code = greeting.readInt32BE(4);
    const first = greeting.subarray(0, greeting.readInt32BE(0));
    const more = greeting.subarray(first.length);
    greeting = Buffer.alloc(0);
    if (code === SSL_REQUEST) return void client.write('N');
    if (code !== PROTOCOL_3) return void behind.end(first);
    greeted = true;
    queue(first, 'connect to PostgreSQL');
    if (more.length > 0) onMessages(cutter(more));
  });
}
