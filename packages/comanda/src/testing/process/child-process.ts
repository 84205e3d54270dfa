import { connect } from 'node:net';
import { systemClock } from '../../kernel/clock.js';
import { describeThrown } from '../../kernel/describe-thrown.js';
import { parseJsonLossless } from '../../kernel/json-parse.js';
import { type EffectDefinition, kindOf } from '../../ports/effect-definition.js';
import type { EffectKind, PerformContext } from '../../ports/effect-kind.js';
import { isNotSent } from '../../relay/outcomes.js';
import { withShiftedDate } from '../effect/shifted-date.js';
import { type ChildOrder, type FromChild, hear, type ToChild, tell } from './wire.js';

/** Runs a handler for a parent that may kill this process at any moment. The program of the child of `effectInProcess`. */
export async function serveEffect(order: ChildOrder): Promise<void> {
  const { port, token } = order;
  const socket = connect(port, '127.0.0.1');
  // Without its parent there is nothing to do; the socket was what kept this process alive.
  socket.on('error', () => socket.destroy());
  let kind: EffectKind;
  try {
    kind = await load(order);
  } catch (error) {
    tell(socket, { token, failure: describeThrown(error).errorText });
    return;
  }
  const { perform: _p, reconcile, validate, ...told } = kind;
  const running = new Map<number, AbortController>();
  hear<ToChild>(socket, (message) => {
    if ('abort' in message) {
      running.get(message.id)?.abort(new DOMException(message.abort.message, message.abort.name));
      return;
    }
    const stop = new AbortController();
    running.set(message.id, stop);
    void answer(kind, message, stop.signal).then((said) => {
      running.delete(message.id);
      tell(socket, said);
    });
  });
  tell(socket, { token, kind: { ...told, looksUp: reconcile !== undefined, validates: validate !== undefined } });
}

async function load({ module, make, args }: ChildOrder): Promise<EffectKind> {
  const exported = ((await import(module)) as Record<string, unknown>)[make];
  if (typeof exported === 'function' && !('definition' in exported)) {
    const made: unknown = await (exported as (...given: readonly unknown[]) => unknown)(...args);
    return kindOf(made as EffectDefinition<never>);
  }
  if (exported === undefined) throw new Error(`${module} exports no ${make}`);
  return kindOf(exported as EffectDefinition<never>);
}

async function answer(
  kind: EffectKind,
  { id, call, payloadText, context, clockOffMs = 0 }: Extract<ToChild, { call: string }>,
  signal: AbortSignal,
): Promise<FromChild> {
  const input = parseJsonLossless(payloadText);
  try {
    const said = await withShiftedDate(clockOffMs, async (): Promise<unknown> => {
      if (context === undefined || call === 'validate') return await kind.validate?.(input);
      // Monotonic time begins with each process.
      const here: PerformContext = { ...context, signal, sendBy: systemClock.monotonicMs() + context.timeoutMs };
      return call === 'perform' ? await kind.perform(input, here) : await kind.reconcile?.(input, here);
    });
    return { id, said: said ?? null };
  } catch (error) {
    const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
    return { id, threw: message, name, notSent: isNotSent(error) };
  }
}
