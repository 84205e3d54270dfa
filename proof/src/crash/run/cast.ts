import type { Child } from '@comanda/test-support';
import type { Act, RelayConfig } from '../processes/configuration.js';
import { type ActEnd, perform, startRelay } from '../stage/hand.js';
import type { Staff } from '../stage/staff.js';
import type { Stage } from '../stage/stage.js';
import type { Tap } from '../watch/tap.js';
import type { Watched } from './victims.js';
import type { World } from './world.js';

/** A dead relay's lease is long enough that the relay under test is ready before it ends. */
const PREDECESSOR_LEASE_MS = 4_000;

/**
 * An act of the application under test; by another one when it was killed.
 *
 * @param lookedAt what the kill left has been looked at: only then may anybody repeat anything
 */
export async function actOf(
  world: World,
  lookedAt: () => Promise<unknown>,
  tap: Tap,
  watched: readonly Watched[],
  url: string,
  statements: Act['statements'],
): Promise<ActEnd> {
  const victim = watched[0];
  if (victim !== undefined && !tap.hasKilled) {
    const act = { database: victim.addresses.database, statements };
    const end = await Promise.race([
      perform(victim.child, act).catch(() => undefined),
      tap.killed.then(() => undefined),
    ]);
    if (end !== undefined) return end;
  }
  // Nobody knows whether the act of a dead process was done: it is done again.
  await lookedAt();
  const other = world.callers.take();
  const end = await perform(other, { database: url, statements });
  world.callers.giveBack(other);
  return end;
}

/** A relay that is killed as soon as it holds what is to be taken over. */
export async function dieWhen(
  stage: Stage,
  child: Child,
  holds: (stage: Stage) => Promise<boolean>,
  config: RelayConfig,
): Promise<void> {
  await startRelay(child, { ...config, leaseMs: PREDECESSOR_LEASE_MS });
  await stage.until('the predecessor to get as far as it has to die', () => holds(stage));
  await child.kill('SIGKILL');
}

/** What was not killed is used again; what cannot be stopped in order is killed. */
export async function dismiss(one: Watched, tap: Tap, staff: Staff): Promise<void> {
  tap.end();
  if (!one.isGone()) await one.dismiss().catch(() => one.child.kill());
  one.close();
  staff.giveBack(one.child);
}
