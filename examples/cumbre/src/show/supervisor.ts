import { setTimeout as delay } from 'node:timers/promises';
import { type Part, type PartSpec, startPart, tail } from './parts.js';

/** A process that is started again whenever it ends, as a service manager would. */
export interface Supervised {
  readonly name: string;
  /** `undefined` while it is down. */
  readonly part: Part | undefined;
  /** How often it was killed here. */
  readonly kills: number;
  /** SIGKILL, now. The process of that moment, or `undefined` when it was down already. It comes back after `downMs`. */
  kill(downMs: number): Part | undefined;
  /** SIGTERM, then SIGKILL. It does not come back. */
  stop(): Promise<void>;
}

const ORDERLY_MS = 8_000;

/**
 * Starts a process under supervision.
 *
 * @param onCrash called when it ends without having been killed or stopped here; that is a bug
 */
export async function supervise(spec: PartSpec, onCrash: (what: string) => void): Promise<Supervised> {
  let part: Part | undefined = await startPart(spec);
  let kills = 0;
  let downMs = 0;
  let killed = false;
  let stopping = false;
  let starting: Promise<void> = Promise.resolve();

  const watch = async (current: Part): Promise<void> => {
    const { code, signal } = await current.exited;
    part = undefined;
    if (stopping) return;
    if (!killed) onCrash(`${spec.name} ended by itself (${signal ?? `exit code ${code}`}).\n${tail(spec.log)}`);
    await delay(killed ? downMs : 500);
    killed = false;
    if (!stopping) starting = again();
    await starting;
  };
  const again = async (): Promise<void> => {
    try {
      const next = await startPart(spec);
      part = next;
      void watch(next);
      if (stopping) next.kill('SIGKILL');
    } catch (error) {
      if (!stopping) onCrash(error instanceof Error ? error.message : String(error));
    }
  };
  void watch(part);

  return {
    name: spec.name,
    get part() {
      return part;
    },
    get kills() {
      return kills;
    },
    kill(forMs) {
      if (part === undefined || killed) return undefined;
      killed = true;
      downMs = forMs;
      kills += 1;
      part.kill('SIGKILL');
      return part;
    },
    async stop() {
      stopping = true;
      await starting;
      if (part === undefined) return;
      const last = part;
      last.kill('SIGTERM');
      const timer = setTimeout(() => last.kill('SIGKILL'), ORDERLY_MS);
      await last.exited;
      clearTimeout(timer);
    },
  };
}
