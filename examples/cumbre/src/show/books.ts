import { closeSync, type FSWatcher, fstatSync, openSync, readFileSync, readSync, watch } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { BookEntry } from '@comanda/test-support/providers';

/** A line that a provider wrote before it answered: what happened in its world, whatever anybody else believes. */
export type Entry = BookEntry;

/** The whole book of a provider. */
export function readBook(file: string): readonly Entry[] {
  return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(parse);
}

/** Calls `onEntry` for each line, within a millisecond or so after it was written. Returns what ends it. */
export function followBook(file: string, onEntry: (entry: Entry) => void): () => void {
  const fd = openSync(file, 'a+');
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.alloc(64 * 1024);
  let position = 0;
  let rest = '';
  const look = (): void => {
    while (fstatSync(fd).size > position) {
      const size = readSync(fd, buffer, 0, buffer.length, position);
      position += size;
      const lines = (rest + decoder.write(buffer.subarray(0, size))).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onEntry(parse(line));
    }
  };
  const watcher = tryToWatch(file, look);
  const timer = setInterval(look, watcher === undefined ? 5 : 100); // a watcher may miss something
  return () => {
    watcher?.close();
    clearInterval(timer);
    look();
    closeSync(fd);
  };
}

/** `undefined` where the system has no watchers left. */
function tryToWatch(file: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(file, onChange).on('error', () => undefined);
  } catch {
    return undefined;
  }
}

/** Key of what a request is about: the one sent, or for a provider that knows no keys the reference in the body. */
export function keyOf({ key, body }: Pick<Entry, 'key' | 'body'>): string {
  if (key !== null) return key;
  try {
    return String((JSON.parse(body) as { readonly reference?: unknown }).reference);
  } catch {
    return body;
  }
}

function parse(line: string): Entry {
  return JSON.parse(line) as Entry;
}
