import { join } from 'node:path';
import type { Control } from '@comanda/test-support/providers';
import { type Part, startPart } from './parts.js';

/** What goes wrong at each provider: probabilities per request. Timeouts of the shop are one second. */
const TROUBLE: Readonly<Record<string, Control>> = {
  payments: {
    rates: {
      error500: 0.04,
      tooMany: 0.01,
      conflict: 0.03,
      dropBefore: 0.03,
      refuse: 0.02,
      slow: 0.02,
      acceptDrop: 0.06,
      hang: 0.01,
    },
    slowMs: 1_200,
  },
  warehouse: {
    rates: { error500: 0.02, conflict: 0.01, dropBefore: 0.01, slow: 0.004, acceptDrop: 0.03 },
    slowMs: 1_200,
  },
  crm: { rates: { error500: 0.05, dropBefore: 0.02, refuse: 0.03, acceptDrop: 0.04 } },
  mail: { rates: { acceptDrop: 0.05, dropBefore: 0.02, error500: 0.02, slow: 0.01 }, slowMs: 1_200 },
};

/** The longest that a provider takes to accept what it has read. */
export const SLOWEST_MS = 1_200;

/** A provider's process and its book. */
export interface Provider {
  readonly target: string;
  readonly url: string;
  readonly book: string;
  readonly part: Part;
}

/** Starts the four providers: three gateways that honour keys, and a mail server that does not. */
export function startProviders(folder: string, seed: number): Promise<readonly Provider[]> {
  return Promise.all(
    Object.entries(TROUBLE).map(async ([target, control], i) => {
      const program = target === 'mail' ? 'mail' : 'gateway';
      const book = join(folder, `${target}.book.jsonl`);
      const part = await startPart({
        name: target,
        file: new URL(import.meta.resolve(`@comanda/test-support/providers/${program}`)),
        args: ['--book', book, '--seed', String(seed + i), '--control', JSON.stringify(control)],
        log: join(folder, `${target}.log`),
      });
      return { target, url: `http://127.0.0.1:${part.facts['port']}`, book, part };
    }),
  );
}
