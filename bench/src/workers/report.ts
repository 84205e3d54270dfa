/** Runs a measurement and tells the parent; errors are told too. */
export async function report(measure: () => Promise<number>): Promise<void> {
  let message: { readonly perSecond: number } | { readonly error: string };
  try {
    message = { perSecond: await measure() };
  } catch (error) {
    message = { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  process.send?.(message, () => process.exit(0));
}
