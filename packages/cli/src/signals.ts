/** Exit code of a process that a signal ended: 128 + its number. */
const CODE = { SIGINT: 130, SIGTERM: 143 } as const;
type StopSignal = keyof typeof CODE;

/**
 * The first SIGINT or SIGTERM calls `stop`; the second ends the process at once.
 *
 * @returns takes the handlers away again
 */
export function onStopSignal(stop: (signal: StopSignal) => void): () => void {
  let asked = false;
  const handle = (signal: StopSignal): void => {
    if (asked) process.exit(CODE[signal]);
    asked = true;
    stop(signal);
  };
  process.on('SIGINT', handle);
  process.on('SIGTERM', handle);
  return () => {
    process.off('SIGINT', handle);
    process.off('SIGTERM', handle);
  };
}
