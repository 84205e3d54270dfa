import pg from 'pg';

/** The database port of the product, structurally. */
export interface Queryable {
  query<Row>(text: string, params: readonly unknown[]): Promise<readonly Row[]>;
}

/** Runs `fn` on one connection of its own, which is closed afterwards. */
export async function withClient<T>(url: string, fn: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {}); // a server that goes away fails the next query; that is enough
  await client.connect();
  try {
    return await fn(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** The port that the product asks for, on a plain connection. */
export function queryable(client: pg.ClientBase): Queryable {
  return {
    async query<Row>(text: string, params: readonly unknown[]): Promise<readonly Row[]> {
      const result: unknown = await client.query(text, [...params]);
      const last: unknown = Array.isArray(result) ? result.at(-1) : result; // several statements, several results
      return (last as { rows: Row[] }).rows;
    },
  };
}

/** `url` with another database. */
export function databaseUrl(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

/** A quoted identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
