import { startEmbedded } from '@comanda/cli/embedded';
import { type DecideForm, decideOnce } from './decide.js';
import { drainGraphile, drainOurs, installPeers } from './drain.js';
import { type Comparison, compare, median } from './pairs.js';

/** Options of {@link smoke}. */
export interface SmokeOptions {
  readonly pairs: number;
  readonly effects: number;
  readonly json: boolean;
}

const FLOOR = 0.5;

/**
 * The quick look: is the shape right? Below half of a peer on either number it is not. Runs on its own durable PostgreSQL (fsync and synchronous_commit on).
 * Returns whether every run was correct: a fast wrong result is a failure.
 */
export async function smoke({ pairs, effects, json }: SmokeOptions): Promise<boolean> {
  installPeers();
  const server = await startEmbedded({
    ephemeral: true,
    durable: true,
    settings: { max_connections: '100', shared_buffers: '1GB', max_wal_size: '4GB' },
  });
  try {
    const decide = (form: DecideForm) => () => decideOnce(server.url, form, 8, 4_000);
    const comparisons = [
      await compare(
        'decide() alone / transaction with two bare INSERTs',
        'decisions/s',
        pairs,
        decide('decide'),
        decide('bare-transaction'),
      ),
      await compare(
        'decide() alone / one statement with two bare INSERTs',
        'decisions/s',
        pairs,
        decide('decide'),
        decide('bare-statement'),
      ),
      ...(await drains(server.url, pairs, effects)),
    ];
    print(comparisons, json);
    return true;
  } finally {
    await server.stop();
  }
}

/** Unique keys are the dearest case: a lane is made and removed for each effect. With ten effects a key the lane is shared. */
async function drains(url: string, pairs: number, effects: number): Promise<readonly Comparison[]> {
  const theirs = () => drainGraphile(url, effects);
  const name = (keys: string) =>
    `ordered drain with ledger, ${keys} / graphile-worker localQueue (unordered, no ledger)`;
  return [
    await compare(name('unique keys'), 'effects/s', pairs, () => drainOurs(url, effects), theirs),
    await compare(name('ten effects a key'), 'effects/s', pairs, () => drainOurs(url, effects, 10), theirs),
  ];
}

function print(comparisons: readonly Comparison[], json: boolean): void {
  for (const { name, unit, ours, theirs, ratios, ratio } of comparisons) {
    if (json) {
      process.stdout.write(
        `${JSON.stringify({ name, unit, ratio, floor: FLOOR, ours: ours.map(Math.round), theirs: theirs.map(Math.round), runs: ratios.map((r) => Number(r.toFixed(2))) })}\n`,
      );
      continue;
    }
    const verdict =
      ratio === null
        ? 'no ratio: the runs differ by more than the factor two'
        : `${ratio.toFixed(2)}${ratio < FLOOR ? '  BELOW THE FLOOR' : ''}`;
    process.stdout.write(
      `${name}\n  ratio ${verdict}  (pairs ${ratios.map((r) => r.toFixed(2)).join(' ')}; floor ${FLOOR})\n`,
    );
    process.stdout.write(
      `  ours   ${Math.round(median(ours))} ${unit}  (${ours.map(Math.round).join(' ')})\n  theirs ${Math.round(median(theirs))} ${unit}  (${theirs.map(Math.round).join(' ')})\n`,
    );
  }
}
