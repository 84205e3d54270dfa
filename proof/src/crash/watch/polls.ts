/**
 * Which exchanges a relay repeats while there is nothing to do, and what it is told then. A poll with a known answer, or with no
 * row at all, tells the process nothing new: all of them are one boundary. Learned from a relay that has no work, never listed by hand.
 */
export interface Polls {
  /** Whether this answer to a poll is empty or was given before. Remembers it. */
  isIdle(name: string, answer: string): boolean;
  copy(): Polls;
}

/** @param names of exchanges that an idle relay repeats, with the answers it got */
export function createPolls(names: ReadonlyMap<string, ReadonlySet<string>> = new Map()): Polls {
  const known = new Map([...names].map(([name, answers]) => [name, new Set(answers)]));
  return {
    isIdle(name, answer) {
      const answers = known.get(name);
      if (answers === undefined) return false;
      if (answer === '' || answers.has(answer)) return true;
      answers.add(answer);
      return false;
    },
    copy: () => createPolls(known),
  };
}
