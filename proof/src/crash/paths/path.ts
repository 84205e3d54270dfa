import type { KindName } from '../kinds.js';
import type { Stage } from '../stage/stage.js';

/** A short story that crosses one path of the product, and the ends that its effects may have, however often its process dies. */
export interface Path {
  readonly name: string;
  /** Which process is watched and killed. */
  readonly victim: 'relay' | 'caller';
  /** Default: all four. */
  readonly kinds?: readonly KindName[];
  /** What happened before the process under test was started. */
  prepare?(stage: Stage): Promise<void>;
  /** A relay that is killed once this holds, before the process under test is started: whose work is taken over. */
  readonly predecessorDiesWhen?: (stage: Stage) => Promise<boolean>;
  /** What happens while the process is watched. Waits for conditions that hold sooner or later, whoever was killed. */
  play(stage: Stage): Promise<void>;
  /** The ends that each effect may have, by its name. All others are faults. */
  readonly ends: Readonly<Record<string, readonly ('completed' | 'failed' | 'cancelled')[]>>;
  /** Effects that happen in this order. */
  readonly order?: readonly string[];
  /** The provider refuses: after an uncertain try that says nothing about the try before, and only a look-up or a person can tell. */
  readonly refuses?: true;
  /** Default: shorter than the lease. */
  readonly timeoutMs?: number;
  /** Whether the relays of the path stop by themselves. */
  readonly stops?: true;
}

/** Whether a request for the effect has reached the provider. */
export async function hasArrived(stage: Stage, ref: string): Promise<boolean> {
  return (await stage.book()).some((entry) => entry.event === 'received' && entry.ref === ref);
}

const ENDED: readonly (string | undefined)[] = ['completed', 'failed', 'cancelled'];

export async function hasEnded(stage: Stage, ref: string): Promise<boolean> {
  return ENDED.includes((await stage.effect(ref))?.state);
}
