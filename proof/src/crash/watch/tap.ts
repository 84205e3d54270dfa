import { type Aim, type Boundary, idOf } from './boundary.js';
import type { Polls } from './polls.js';

/** A process under test, as the proxies see it. */
export interface Victim {
  /** Kills it with SIGKILL and resolves when it is gone. */
  kill(): Promise<void>;
  readonly gone: boolean;
}

/** One request of a process under test and its answer, told by a proxy step by step. Each step answers whether to go on: `false` means that the process is dead. */
export interface Exchange {
  before(): Promise<boolean>;
  /** @param answer its text, as far as it tells one answer from another */
  sent(answer: string): Promise<boolean>;
  /** @param taken resolves when the process has taken the answer from its socket */
  answered(taken: () => Promise<void>): Promise<void>;
}

/** Writes down every exchange that passes the proxies, and kills at the one that is aimed at. */
export interface Tap {
  exchange(victim: Victim, name: string): Exchange;
  /** From here on exchanges are boundaries of the path. */
  begin(): void;
  /** Nothing that comes afterwards counts, and nobody is killed any more. */
  end(): void;
  /** What was seen since `begin`, in the order of the answers; repeated idle polls once. */
  readonly seen: readonly Boundary[];
  /** Every answer since `begin`, as it came. */
  readonly answers: readonly { readonly name: string; readonly answer: string }[];
  /** Resolves when the kill has happened. */
  readonly killed: Promise<Victim>;
  readonly hasKilled: boolean;
}

/** @param aim where to kill; without it the tap only records */
export function createTap(polls: Polls, aim?: Aim): Tap {
  const seen: Boundary[] = [];
  const counts = new Map<string, number>();
  const answers: { readonly name: string; readonly answer: string }[] = [];
  const known = polls.copy();
  let last: string | undefined;
  let begun = false;
  let dead: Victim | undefined;
  let tell = (_victim: Victim): void => undefined;
  const killed = new Promise<Victim>((resolve) => {
    tell = resolve;
  });

  const strike = async (victim: Victim): Promise<false> => {
    dead = victim;
    await victim.kill();
    tell(victim);
    return false;
  };
  const reached = (id: string | undefined): boolean => id === undefined || seen.some((entry) => idOf(entry) === id);

  return {
    seen,
    answers,
    killed,
    get hasKilled() {
      return dead !== undefined;
    },
    begin: () => {
      begun = true;
    },
    end: () => {
      begun = false;
    },
    exchange(victim, name) {
      const after = last;
      let boundary: Boundary | undefined;
      const isAim = (): boolean =>
        begun &&
        dead === undefined &&
        boundary !== undefined &&
        aim !== undefined &&
        idOf(boundary) === idOf(aim.boundary);
      const learn = (answer: string): void => {
        const idle = known.isIdle(name, answer);
        if (!begun) return;
        answers.push({ name, answer });
        const occurrence = (counts.get(`${name} ${idle}`) ?? 0) + 1;
        counts.set(`${name} ${idle}`, occurrence);
        boundary = { name, occurrence: idle ? 1 : occurrence, idle, after };
        if (idle && occurrence > 1) return;
        seen.push(boundary);
      };
      return {
        async before() {
          if (victim.gone) return false;
          if (!begun || dead !== undefined || aim?.point !== 'before' || aim.boundary.name !== name) return true;
          const { idle, occurrence } = aim.boundary;
          const due = idle || ((counts.get(`${name} false`) ?? 0) === occurrence - 1 && reached(aim.boundary.after));
          return due ? await strike(victim) : true;
        },
        async sent(answer) {
          learn(answer);
          if (victim.gone) return false;
          return isAim() && aim?.point === 'sent' ? await strike(victim) : true;
        },
        async answered(taken) {
          if (isAim() && aim?.point === 'answered') {
            await taken();
            await strike(victim);
          }
          if (boundary !== undefined && !boundary.idle) last = idOf(boundary);
        },
      };
    },
  };
}
