import { type Child, spawnNode } from '@comanda/test-support';

const folder = new URL('../processes/', import.meta.url);

/** The provider process. Its books are judged, it knows nothing of who asks. */
export interface Provider {
  readonly http: number;
  readonly mail: number;
  readonly child: Child;
}

export async function startProvider(times: { readonly late: number; readonly long: number }): Promise<Provider> {
  const child = spawnNode(new URL('provider-process.js', folder), [JSON.stringify(times)], { reap: false });
  const { http, mail } = await child.line<{ http: number; mail: number }>((line) => line['ready'] === true);
  return { http, mail, child };
}

export function spawnRelay(): Child {
  return spawnNode(new URL('relay-process.js', folder), [], { reap: false });
}

export function spawnCaller(): Child {
  return spawnNode(new URL('caller-process.js', folder), [], { reap: false });
}
