import type { Child } from '@comanda/test-support';
import type { Act, RelayConfig } from '../processes/configuration.js';

/** How a caller's act ended: committed, with the first row of its last statement, or refused with a SQLSTATE. */
export type ActEnd =
  | { readonly done: string; readonly row?: Readonly<Record<string, unknown>> }
  | { readonly refused: string; readonly error: string };

const PATIENCE_MS = 30_000;
let count = 0;

/** Starts a relay in a process of `spawnRelay`; the returned function stops the relay, not the process. */
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

/** Performs an act in a process of `spawnCaller`. */
export async function perform(child: Child, act: Act): Promise<ActEnd> {
  count += 1;
  const id = `act-${count}`;
  child.send({ act, id });
  return await child.line<ActEnd>(({ done, refused }) => done === id || refused === id, PATIENCE_MS);
}
