import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { startEmbedded } from '@comanda/cli/embedded';
import pg from 'pg';
import { CATALOG } from '../shop/orders.js';
import { SHOP_SCHEMA } from '../shop/schema.js';

/** A fresh database. */
export interface DemoDatabase {
  readonly url: string;
  /** e.g. `embedded PostgreSQL 18.4` */
  readonly server: string;
  readonly name: string;
  /** Drops the database, or ends the embedded server with all its files. */
  close(): Promise<void>;
}

/**
 * Makes a fresh database: on an embedded server of its own, or, only when asked for, on the server of `url`.
 *
 * @param onLost called when the embedded server ends by itself
 */
export async function freshDatabase(url: string | undefined, onLost: (why: string) => void): Promise<DemoDatabase> {
  if (url !== undefined) return await onServer(url);
  // The embedded server wants none of the caller's settings for other servers.
  for (const name of Object.keys(process.env).filter((key) => key.startsWith('PG'))) delete process.env[name];
  const server = await startEmbedded({
    ephemeral: true,
    onExit: ({ code, log }) => onLost(`The embedded PostgreSQL ended (code ${code}).\n${log}`),
  });
  const name = 'cumbre';
  await withClient(server.url, (admin) => admin.query(`create database ${name}`));
  return {
    url: withDatabase(server.url, name),
    server: `embedded PostgreSQL ${server.version}`,
    name,
    close: () => server.stop(),
  };
}

async function onServer(url: string): Promise<DemoDatabase> {
  const name = `cumbre_${new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14)}_${process.pid}`;
  const version = await withClient(url, async (admin) => {
    await admin.query(`create database ${name}`);
    const { rows } = await admin.query<{ server_version: string }>('show server_version');
    return rows[0]?.server_version;
  }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`A fresh database could not be made on the server of --database-url: ${why}`, { cause: error });
  });
  const close = async (): Promise<void> => {
    await withClient(url, (admin) => admin.query(`drop database if exists ${name} with (force)`));
  };
  return { url: withDatabase(url, name), server: `PostgreSQL ${version}`, name, close };
}

/** Installs Comanda with its command line, as anybody would, and the shop's own tables. */
export async function install(url: string): Promise<void> {
  await comanda(['migrate', '--database-url', url, '--environment', 'dev']);
  await withClient(url, async (client) => {
    await client.query(SHOP_SCHEMA);
    await client.query('insert into shop.stock (sku) select unnest($1::text[])', [CATALOG.map(({ sku }) => sku)]);
  });
}

/** Runs `comanda …` to its end. */
async function comanda(args: readonly string[]): Promise<void> {
  const file = createRequire(import.meta.url).resolve('@comanda/cli/package.json');
  const { bin } = JSON.parse(readFileSync(file, 'utf8')) as { readonly bin: { readonly comanda: string } };
  const child = spawn(process.execPath, [join(dirname(file), bin.comanda), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => printed.push(chunk.toString()));
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0) throw new Error(`comanda ${args[0]} failed:\n${printed.join('')}`);
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.toString();
}
