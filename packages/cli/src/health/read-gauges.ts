import type { Queryable } from 'comanda';
import { inSchema, systemClock } from 'comanda/internal';
import type { Gauge } from './metrics.js';

/** Reads the gauges, never more than once at a time, and never lets anybody wait for a database that does not answer. */
export interface GaugeReader {
  /** Gauges that are at most `maxAgeMs` old, or `undefined` when there are none within `withinMs`. */
  read(maxAgeMs: number, withinMs: number): Promise<readonly Gauge[] | undefined>;
}

export function createGaugeReader(db: Queryable, schema: string): GaugeReader {
  const sql = inSchema('select name, label, value from comanda.gauges', schema);
  let last: { readonly gauges: readonly Gauge[]; readonly atMs: number } | undefined;
  let reading: Promise<void> | undefined;
  const isFresh = (maxAgeMs: number): boolean =>
    last !== undefined && systemClock.monotonicMs() - last.atMs <= maxAgeMs;

  const start = async (): Promise<void> => {
    const atMs = systemClock.monotonicMs();
    try {
      last = { gauges: await db.query<Gauge>(sql, []), atMs };
    } catch {
      // Not allowed, or away: whoever asks is told that nothing is known.
    } finally {
      reading = undefined;
    }
  };

  return {
    async read(maxAgeMs, withinMs) {
      if (!isFresh(maxAgeMs)) {
        reading ??= start();
        const enough = new AbortController();
        await Promise.race([reading, systemClock.sleep(withinMs, enough.signal)]);
        enough.abort();
      }
      return isFresh(maxAgeMs) ? last?.gauges : undefined;
    },
  };
}
