import type { Socket } from 'node:net';
import type { EffectKind, PerformContext } from '../../ports/effect-kind.js';

/** What the parent says first, on the command line of the child. */
export interface ChildOrder {
  readonly port: number;
  readonly token: string;
  readonly module: string;
  readonly make: string;
  readonly args: readonly unknown[];
}

/** What can be told about a kind in JSON. */
export type ToldKind = Omit<EffectKind, 'perform' | 'reconcile' | 'validate'> & {
  readonly looksUp: boolean;
  readonly validates: boolean;
};

export type ToldContext = Omit<PerformContext, 'signal' | 'sendBy'>;

export type ToChild =
  | {
      readonly id: number;
      readonly call: 'perform' | 'reconcile' | 'validate';
      readonly payloadText: string;
      readonly context?: ToldContext;
      /** How wrong the child's wall clock is, in milliseconds. */
      readonly clockOffMs?: number;
    }
  | { readonly id: number; readonly abort: { readonly name: string; readonly message: string } };

export type FromChild =
  | { readonly token: string; readonly kind: ToldKind }
  | { readonly token: string; readonly failure: string }
  | { readonly id: number; readonly said: unknown }
  | { readonly id: number; readonly threw: string; readonly name: string; readonly notSent: boolean };

/** JSON, one value a line. A lifetime without end survives it. */
export function tell(socket: Socket, message: ToChild | FromChild): void {
  socket.write(`${JSON.stringify(message, (_name, value: unknown) => (value === Infinity ? FOR_EVER : value))}\n`);
}

const FOR_EVER = '\u0000Infinity';

export function hear<Message>(socket: Socket, heard: (message: Message) => void): void {
  let pending = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk) => {
    pending += String(chunk);
    const lines = pending.split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines)
      heard(JSON.parse(line, (_name, value: unknown) => (value === FOR_EVER ? Infinity : value)) as Message);
  });
}
