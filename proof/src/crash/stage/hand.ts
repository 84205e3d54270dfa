import type { Child } from '@comanda/test-support';
import type { Act, RelayConfig } from '../processes/configuration.js';
import { spawnCaller, spawnRelay } from './server.js';

/** How a caller's act ended: committed, or refused with a SQLSTATE. */
export type ActEnd = { readonly done: string } | { readonly refused: string; readonly error: string };

const PATIENCE_MS = 30_000;
let count = 0;

/** The processes that go on where killed ones left off. They outlive runs, and are never killed. */
export interface Hand {
  /** Starts a relay of the same configuration; the returned function stops it in order. */
  relay(config: RelayConfig): Promise<() => Promise<void>>;
  perform(act: Act): Promise<ActEnd>;
  end(): Promise<void>;
}

export function createHand(): Hand {
  let relays: Child | undefined;
  let caller: Child | undefined;
  return {
    async relay(config) {
      relays ??= spawnRelay();
      return await startRelay(relays, config);
    },
    async perform(act) {
      caller ??= spawnCaller();
      return await perform(caller, act);
    },
    async end() {
      await Promise.all([relays?.kill(), caller?.kill()]);
    },
  };
}

/** Starts a relay in a process of {@link spawnRelay}; the returned function stops the relay, not the process. */
export async function startRelay(child: Child, config: RelayConfig): Promise<() => Promise<void>> {
  count += 1;
  const id = `relay-${count}`;
  child.send({ start: config, id });
  const line = await child.line<{ ready?: string; error?: string }>(
    ({ ready, failed }) => ready === id || failed === id,
    PATIENCE_MS,
  );
  if (line.error !== undefined) throw new Error(`A relay did not start: ${line.error}`);
  return async () => {
    child.send({ stop: id });
    await child.line(({ stopped }) => stopped === id, PATIENCE_MS);
  };
}

/** Performs an act in a process of {@link spawnCaller}. */
export async function perform(child: Child, act: Act): Promise<ActEnd> {
  count += 1;
  const id = `act-${count}`;
  child.send({ act, id });
  return await child.line<ActEnd>(({ done, refused }) => done === id || refused === id, PATIENCE_MS);
}
