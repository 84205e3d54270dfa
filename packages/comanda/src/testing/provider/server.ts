import type { AddressInfo, Server } from 'node:net';
import type { Book } from './book.js';
import type { Holder } from './holder.js';
import { registerBook } from './registered.js';
import type { ProviderDouble } from './types.js';

/** What every double is made of. */
export interface Parts<Own> {
  readonly book: Book;
  readonly holder: Holder;
  readonly server: Server;
  /** Breaks every connection. */
  readonly drop: () => void;
  /** What only this protocol has. */
  readonly own: (port: number) => Own & Pick<ProviderDouble, 'protocol'>;
}

/** Starts a server on a free port of 127.0.0.1, and makes a double of it. */
export async function startDouble<Own extends object>(parts: Parts<Own>): Promise<Own & ProviderDouble> {
  const { book, holder, server, drop } = parts;
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      drop();
    });
  const double = {
    get book() {
      return book.entries;
    },
    get accepted() {
      return book.entries.filter(({ verdict }) => verdict === 'accepted');
    },
    next: holder.next,
    plan: holder.plan,
    down: async (isDown: boolean) => {
      if (isDown && server.listening) await close();
      if (!isDown && !server.listening) await listen(server, port);
    },
    elapse: book.elapse,
    get holding() {
      return holder.holding;
    },
    onHold: holder.onHold,
    release: holder.release,
    drop,
    clear: () => {
      drop();
      holder.clear();
      book.clear();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  return registerBook(Object.assign(double, parts.own(port)), book);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
