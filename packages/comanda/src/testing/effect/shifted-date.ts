import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Runs something for which `Date` is wrong by so many milliseconds. Only what it starts sees the wrong time; everything else in the process keeps the right one.
 */
export async function withShiftedDate<Result>(ms: number, run: () => Promise<Result>): Promise<Result> {
  if (ms === 0) return await run();
  const right = globalThis.Date;
  const inside = new AsyncLocalStorage<true>();
  const now = (): number => right.now() + (inside.getStore() === true ? ms : 0);
  const wrong = new Proxy(right, {
    construct: (target, given: unknown[], newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as object,
    apply: () => Reflect.construct(right, [now()]).toString(),
    get: (target, name, receiver) => (name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown)),
  });
  globalThis.Date = wrong;
  try {
    return await inside.run(true, run);
  } finally {
    // Somebody else may have replaced it meanwhile; then it is theirs, and ours is right for everybody outside.
    if (globalThis.Date === wrong) globalThis.Date = right;
  }
}
