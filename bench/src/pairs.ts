/** One comparison: ours over theirs, from several pairs run one after the other. */
export interface Comparison {
  readonly name: string;
  readonly unit: string;
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
  readonly ratios: readonly number[];
  /** Median of the ratios of the pairs; `null` when the runs of ours differ by more than the factor two: then no ratio is honest. */
  readonly ratio: number | null;
}

/** Runs A B A B …, one at a time, so that what else the machine does hits both. */
export async function compare(
  name: string,
  unit: string,
  pairs: number,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
): Promise<Comparison> {
  const a: number[] = [];
  const b: number[] = [];
  for (let i = 0; i < pairs; i += 1) {
    a.push(await ours());
    b.push(await theirs());
  }
  const ratios = a.map((value, i) => value / (b[i] ?? Number.NaN));
  const steady = Math.max(...a) / Math.min(...a) <= 2;
  return { name, unit, ours: a, theirs: b, ratios, ratio: steady ? median(ratios) : null };
}

/** The middle value; the mean of the two middle ones for an even count. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((x, y) => x - y);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}
