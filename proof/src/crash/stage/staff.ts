import type { Child } from '@comanda/test-support';

/** Processes of one program, lent to runs. One that was not killed is used again: the start of a process costs most of a run. */
export interface Staff {
  take(): Child;
  giveBack(child: Child): void;
  end(): Promise<void>;
}

export function createStaff(spawn: () => Child): Staff {
  const all = new Set<Child>();
  const free: Child[] = [];
  const isGone = new WeakSet<Child>();
  return {
    take() {
      const child = free.pop() ?? spawn();
      if (!all.has(child)) {
        all.add(child);
        void child.exited.then(() => {
          isGone.add(child);
          all.delete(child);
        });
      }
      return child;
    },
    giveBack: (child) => {
      if (!isGone.has(child)) free.push(child);
    },
    end: async () => void (await Promise.all([...all].map((child) => child.kill()))),
  };
}
