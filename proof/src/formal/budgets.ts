/** Settings in which nothing goes wrong but what they name: crashes, pauses and faults are 0 unless given. */
export function calm(...given: readonly string[]): string[] {
  const named = new Set(given.map((flag) => flag.split('=')[0]));
  const others = ['-DCRASHES', '-DPAUSES', '-DFAULTS'].filter((budget) => !named.has(budget));
  return [...others.map((budget) => `${budget}=0`), ...given];
}
