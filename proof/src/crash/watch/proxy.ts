import { once } from 'node:events';
import type { Server, Socket } from 'node:net';

/** A proxy on a loopback port of its own. */
export interface LoopbackProxy {
  readonly port: number;
  close(): void;
}

/** @param open the sockets to end with it */
export async function listenOn(server: Server, open: ReadonlySet<Socket>): Promise<LoopbackProxy> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
