import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const PREFIX = 'comanda-cumbre-';
/** What a demo writes. Nothing else in a folder is touched. */
const OURS =
  /^(\w+\.book\.jsonl|(payments|warehouse|crm|mail|relay-[ab]|order-triage)\.log|(decisions|orders|acknowledged|kills)\.jsonl|reckoning\.json)$/;

/** A folder for the books: the one that was named, emptied of earlier books, or a temporary one. */
export function bookFolder(named: string | undefined): { readonly path: string; remove(): void } {
  if (named !== undefined) {
    const path = resolve(named);
    mkdirSync(path, { recursive: true });
    for (const file of readdirSync(path).filter((name) => OURS.test(name))) rmSync(join(path, file));
    return { path, remove: () => undefined };
  }
  removeOrphans();
  const path = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Folders of demos that were killed. */
function removeOrphans(): void {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const pid = Number(name.slice(PREFIX.length).split('-')[0]);
    try {
      process.kill(pid, 0);
    } catch (error) {
      // ESRCH: gone. EPERM: it lives, and belongs to somebody else.
      if ((error as NodeJS.ErrnoException).code === 'ESRCH')
        rmSync(join(tmpdir(), name), { recursive: true, force: true });
    }
  }
}
