import { type ChildProcess, spawn } from 'node:child_process';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { systemClock } from '../../kernel/clock.js';
import { newId } from '../../kernel/ids.js';
import { toJsonText } from '../../kernel/json-text.js';
import type { EffectKind, PerformContext } from '../../ports/effect-kind.js';
import type { Outcome, ReconcileResult } from '../../ports/outcome.js';
import { notSent } from '../../relay/outcomes.js';
import { type FromChild, hear, type ToChild, type ToldContext, type ToldKind, tell } from './wire.js';

/** Where the handler is. */
export interface ProcessOptions {
  /** The module, e.g. `new URL('./effects.js', import.meta.url)`. */
  readonly module: URL;
  /** What it exports: an effect, or a function that makes one of `args`. */
  readonly make: string;
  /** JSON values, e.g. `[provider.url]`. */
  readonly args?: readonly unknown[];
}

/** An effect whose handler runs in a process of its own, which can be killed. Give it to `exerciseEffect`, and close it at the end. */
export interface EffectInProcess extends EffectKind {
  /** SIGKILL. Resolves when another process has taken its place. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  readonly kind: ToldKind;
  call(message: Omit<Extract<ToChild, { call: string }>, 'id'>, signal?: AbortSignal): Promise<unknown>;
}

/** More than any wall clock drifts, less than any that is set wrong. */
const WRONG_CLOCK_MS = 60_000;

/**
 * Starts a handler in a child process, so that the kills of `exerciseEffect` are kills: SIGKILL while the provider holds a request, and whatever the handler
 * kept in memory is gone.
 *
 * @throws Error when the module cannot be loaded, with what the process printed
 */
export async function effectInProcess(options: ProcessOptions): Promise<EffectInProcess> {
  const token = newId();
  const arrivals = new Map<string, (socket: Socket, first: FromChild) => void>();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    hear<FromChild>(socket, (message) => {
      if ('token' in message && message.token === token) arrivals.get(token)?.(socket, message);
      else socket.emit('comanda', message);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const { port } = server.address() as AddressInfo;

  const start = (): Promise<Running> =>
    new Promise((resolve, reject) => {
      const order = JSON.stringify({ args: [], ...options, module: options.module.href, port, token });
      const program = `import { serveEffect } from ${JSON.stringify(new URL('./child-process.js', import.meta.url).href)}; await serveEffect(${order});`;
      const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let printed = '';
      child.stderr.on('data', (chunk) => {
        printed = `${printed}${String(chunk)}`.slice(-4_096);
      });
      child.once('exit', () => reject(new Error(`the process of the handler ended: ${printed}`)));
      arrivals.set(token, (socket, first) => {
        if ('failure' in first) reject(new Error(first.failure));
        else if ('kind' in first) resolve({ child, kind: first.kind, call: caller(socket) });
      });
    });

  let current = start();
  const { looksUp, validates, ...told } = (await current).kind;
  const run = async (call: 'perform' | 'reconcile', context: PerformContext): Promise<unknown> => {
    const { signal, sendBy: _sendBy, ...rest } = context;
    const plain: ToldContext = { ...rest };
    return await (await current).call(
      { call, payloadText: context.payloadText, context: plain, clockOffMs: clockOff() },
      signal,
    );
  };
  const end = async (): Promise<void> => {
    const { child } = await current;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill('SIGKILL')) await gone;
  };
  return {
    ...told,
    perform: async (_input, context) => (await run('perform', context)) as Outcome,
    ...(looksUp
      ? {
          reconcile: async (_input: unknown, context: PerformContext) =>
            (await run('reconcile', context)) as ReconcileResult,
        }
      : {}),
    ...(validates
      ? {
          validate: async (input: unknown) => {
            return (await (
              await current
            ).call({ call: 'validate', payloadText: toJsonText(input) })) as readonly string[];
          },
        }
      : {}),
    kill: async () => {
      await end();
      current = start();
      await current;
    },
    close: async () => {
      await end();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** How wrong `Date` is where this is called: a scenario can have made it so. */
function clockOff(): number {
  const off = systemClock.wallMs() - performance.timeOrigin - systemClock.monotonicMs();
  return Math.abs(off) < WRONG_CLOCK_MS ? 0 : Math.round(off);
}

function caller(socket: Socket): Running['call'] {
  let ids = 0;
  const waiting = new Map<number, { resolve(said: unknown): void; reject(error: Error): void }>();
  socket.on('comanda', (message: Exclude<FromChild, { token: string }>) => {
    const call = waiting.get(message.id);
    waiting.delete(message.id);
    if ('said' in message) call?.resolve(message.said);
    else call?.reject(thrown(message));
  });
  socket.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the process of the handler was killed'));
  });
  return (message, signal) =>
    new Promise((resolve, reject) => {
      const id = ++ids;
      waiting.set(id, { resolve, reject });
      tell(socket, { ...message, id });
      const abort = (): void => {
        const reason: unknown = signal?.reason;
        const { name, message: text } = reason instanceof Error ? reason : new Error(String(reason));
        tell(socket, { id, abort: { name, message: text } });
      };
      if (signal?.aborted === true) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
}

function thrown({ threw, name, notSent: marked }: Extract<FromChild, { threw: string }>): Error {
  const error = Object.assign(new Error(threw), { name });
  return marked ? notSent(error) : error;
}
