/** Resident memory of one process at one moment of the run. */
export interface MemorySample {
  /** Milliseconds since the run began. */
  readonly at: number;
  readonly bytes: number;
}

/** Resident memory early and late, each the median of its samples. */
export interface MemoryVerdict {
  readonly tenthBytes: number;
  readonly endBytes: number;
  readonly ratio: number;
}

/** Compares the samples around a tenth of the run with the last ones. Medians: a single sample can be just before or after a collection. */
export function judgeMemory(samples: readonly MemorySample[], runMs: number): MemoryVerdict {
  const around = (from: number, to: number): number =>
    median(samples.filter(({ at }) => at >= from * runMs && at <= to * runMs).map(({ bytes }) => bytes));
  const tenthBytes = around(0.075, 0.125);
  const endBytes = around(0.95, 1);
  return { tenthBytes, endBytes, ratio: Math.round((endBytes / tenthBytes) * 1_000) / 1_000 };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
