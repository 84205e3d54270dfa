/** What outside judges found after one run: the provider's book against the database. */
export interface Verdict {
  /** Decisions or effects that never came to be, or not to the end that they must have. */
  readonly lost: readonly string[];
  /** Acceptances too many, and acceptances of what was cancelled or has failed. */
  readonly duplicated: readonly string[];
  /** Rows of `comanda.unattended`, at any look. */
  readonly unattended: readonly string[];
  /** Anything else that is wrong: order, an altered content, the caller's own state apart from its decision. */
  readonly wrong: readonly string[];
  /** Effects that were unknown at some time, and how many of them ended. */
  readonly unknown: number;
  readonly reconciled: number;
}

export function isClean({ lost, duplicated, unattended, wrong }: Verdict): boolean {
  return lost.length + duplicated.length + unattended.length + wrong.length === 0;
}
