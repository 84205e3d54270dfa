import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

const PATIENCE_MS = 500;

/**
 * Resolves when the process at the other end has taken everything from its socket, as the kernel sees it: its receive queue is empty.
 * Where the kernel's table cannot be read (not Linux) it resolves in the next turn of the event loop.
 */
export async function untilTaken(socket: Socket): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  while (!socket.destroyed && unread(socket) !== 0 && performance.now() < until) await setImmediate();
}

/** Bytes that wait at the other end of a loopback connection; `undefined` when its end is not in the table any more. */
function unread({ localPort, remotePort }: Socket): number {
  const wanted = `${hex(remotePort)} ${hex(localPort)}`;
  for (const line of table()) {
    const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/);
    if (`${local.split(':')[1]} ${remote.split(':')[1]}` === wanted)
      return Number.parseInt(queues.split(':')[1] ?? '0', 16);
  }
  return 0;
}

function table(): readonly string[] {
  try {
    return readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  } catch {
    return [];
  }
}

function hex(port: number | undefined): string {
  return (port ?? 0).toString(16).toUpperCase().padStart(4, '0');
}
