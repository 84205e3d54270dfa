import { type Reader, type RelayRow, systemClock } from 'comanda/internal';

/** How far the relays are with a version of the switch. */
export interface Confirmation {
  /** Every relay that has not said goodbye obeys, save those that the caller knows to be dead. */
  readonly confirmed: boolean;
  readonly obeying: readonly RelayRow[];
  /** Live, and not there yet. */
  readonly behind: readonly RelayRow[];
  /** Not heard for 30 seconds: dead, or paused and able to wake up. Never counted as confirmed. */
  readonly silent: readonly RelayRow[];
}

const LOOK_EVERY_MS = 100;

/** Looks until every relay obeys the version, or the time is over. */
export async function confirmSwitch(
  reader: Pick<Reader, 'relays'>,
  version: string,
  options: { readonly withinMs: number; readonly gone: readonly string[] },
): Promise<Confirmation> {
  const until = systemClock.monotonicMs() + options.withinMs;
  for (;;) {
    const confirmation = judge(await reader.relays(), version, options.gone);
    const left = until - systemClock.monotonicMs();
    if (confirmation.confirmed || left <= 0) return confirmation;
    await systemClock.sleep(Math.min(LOOK_EVERY_MS, left));
  }
}

/** The judgement of one look. */
export function judge(relays: readonly RelayRow[], version: string, gone: readonly string[]): Confirmation {
  // Somebody who is heard is not gone, whatever is said about him.
  const counted = relays.filter((relay) => relay.live || !gone.includes(relay.id));
  const silent = counted.filter((relay) => !relay.live);
  const behind = counted.filter((relay) => relay.live && BigInt(relay.switch_version) < BigInt(version));
  const obeying = counted.filter((relay) => relay.live && !behind.includes(relay));
  return { confirmed: silent.length === 0 && behind.length === 0, obeying, behind, silent };
}
