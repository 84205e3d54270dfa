/** One text that is replaced. */
export interface Edit {
  /** From the root of the repository. */
  readonly file: string;
  /** Must be there once: a list that no longer fits the code fails. */
  readonly old: string;
  readonly new: string;
}

/** One rule of the code that is taken away, and the tests of which at least one must fail then. */
export interface Mutation {
  readonly name: string;
  readonly about: string;
  readonly edits: readonly Edit[];
  readonly tests: readonly { readonly file: string; readonly title: string }[];
}

/**
 * The text of a file after its edits.
 *
 * @throws Error when a text to replace is not there once
 */
export function mutated(text: string, edits: readonly Edit[], name: string): string {
  return edits.reduce((now, edit) => {
    const times = now.split(edit.old).length - 1;
    if (times !== 1)
      throw new Error(`${name}: a text to replace is ${times} times in ${edit.file}, not once:\n${edit.old}`);
    return now.replace(edit.old, () => edit.new);
  }, text);
}
