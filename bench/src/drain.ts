import { execFileSync, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freshDatabase } from '@comanda/test-support';

const peers = fileURLToPath(new URL('../peers/', import.meta.url));

/** Installs the peers once, from their own lock. */
export function installPeers(): void {
  if (existsSync(new URL('../peers/node_modules', import.meta.url))) return;
  process.stderr.write('installing the peers of the benchmark (once)\n');
  execFileSync('npm', ['ci', '--silent'], { cwd: peers, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Effects per second of one relay, in order per key, with lease, fence, outcome and attempt rows; durable completions are counted. */
export async function drainOurs(serverUrl: string, effects: number, perKey = 1): Promise<number> {
  return await inDatabase(serverUrl, async (url) => await worker('drain-ours', url, effects, perKey));
}

/** Jobs per second of graphile-worker with localQueue and batched completion: no order, no ledger. */
export async function drainGraphile(serverUrl: string, jobs: number): Promise<number> {
  return await inDatabase(serverUrl, async (url) => await worker('drain-graphile', url, jobs));
}

async function inDatabase(serverUrl: string, measure: (url: string) => Promise<number>): Promise<number> {
  const database = await freshDatabase(serverUrl, 'bench');
  try {
    return await measure(database.url);
  } finally {
    await database.drop();
  }
}

/** One process per run: it prepares, measures, checks, and says how many per second. */
function worker(name: string, url: string, ...numbers: readonly number[]): Promise<number> {
  const child = fork(fileURLToPath(new URL(`./workers/${name}.js`, import.meta.url)), [url, ...numbers.map(String)]);
  return new Promise((resolve, reject) => {
    child.once('message', (message: { readonly perSecond?: number; readonly error?: string }) => {
      if (message.perSecond === undefined) reject(new Error(`${name}: ${message.error ?? 'no answer'}`));
      else resolve(message.perSecond);
    });
    child.once('exit', (code) => reject(new Error(`${name} ended with code ${code} before it answered`)));
  });
}
