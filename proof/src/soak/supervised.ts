import { setTimeout as delay } from 'node:timers/promises';
import { type Child, spawnNode } from '@comanda/test-support';

/** A process that is killed now and then, and comes back. */
export interface Supervised {
  readonly name: string;
  /** How it is running now; `undefined` while it is down. */
  readonly child: Child | undefined;
  readonly kills: number;
  /** Whether it stands still (SIGSTOP). */
  readonly paused: boolean;
  /** SIGKILL, and a new start after that time. */
  kill(downMs: number): Promise<void>;
  /** SIGSTOP, and SIGCONT after that time. */
  pause(forMs: number): Promise<void>;
  /** SIGTERM, and SIGKILL when it takes too long. */
  stop(): Promise<void>;
}

export interface SupervisedSpec {
  readonly name: string;
  readonly file: URL;
  /** What the n-th start is told, n from 1. */
  readonly settings: (start: number) => unknown;
  /** It ended and nobody had asked for it. */
  readonly onCrash: (why: string) => void;
  readonly signal: AbortSignal;
}

const ORDERLY_MS = 15_000;

/** Starts it, and again each time that it ends. */
export function supervise(spec: SupervisedSpec): Supervised {
  const { name, signal } = spec;
  let starts = 0;
  let kills = 0;
  let paused = false;
  let expected = false;
  let child: Child | undefined;

  const start = (): void => {
    starts += 1;
    expected = false;
    const next = spawnNode(spec.file, [JSON.stringify(spec.settings(starts))], { reap: false });
    child = next;
    void next.exited.then(({ code, signal: by }) => {
      if (child === next) child = undefined;
      if (expected || signal.aborted) return;
      spec.onCrash(`${name} ended by itself (${by ?? `exit code ${code}`}):\n${next.output()}`);
      start();
    });
  };
  start();

  return {
    name,
    get child() {
      return child;
    },
    get kills() {
      return kills;
    },
    get paused() {
      return paused;
    },
    async kill(downMs) {
      if (child === undefined) return;
      expected = true;
      kills += 1;
      await child.kill('SIGKILL');
      await delay(downMs, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) start();
    },
    async pause(forMs) {
      const standing = child;
      if (standing === undefined) return;
      paused = true;
      standing.pause();
      await delay(forMs, undefined, { signal }).catch(() => undefined);
      standing.resume();
      paused = false;
    },
    async stop() {
      expected = true;
      const last = child;
      if (last === undefined) return;
      await last.kill('SIGTERM', ORDERLY_MS).catch(() => last.kill('SIGKILL'));
    },
  };
}
