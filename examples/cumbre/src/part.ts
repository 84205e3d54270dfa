/** How the processes of the demo behave towards the one that started them. Not needed in a shop of your own. */

/** A setting that the starter has to give in the environment. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; this process is started by main.js`);
  return value;
}

/** Says that this process does its work now. */
export function ready(facts: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify({ ready: true, ...facts }));
}

/** Ends this process when its starter is gone, however that ended: the kernel closes the channel between them. */
export function endWithParent(): void {
  if (process.send === undefined) return; // started by hand
  process.once('disconnect', () => process.exit(0));
  if (!process.connected) process.exit(0); // it was gone before we listened
}
