import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type EmbeddedServer, type ExitNotice, startEmbedded } from '@comanda/cli/embedded';
import { afterThisTest, eventually, spawnNode, temporaryFolder, withClient } from '@comanda/test-support';
import { beforeAll, describe, expect, it } from 'vitest';

const program = new URL('../fixtures/embedded-server.mjs', import.meta.url);

async function start(options: Parameters<typeof startEmbedded>[0]): Promise<EmbeddedServer> {
  const server = await startEmbedded(options);
  afterThisTest(server.stop);
  return server;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const one = (url: string) => withClient(url, async (c) => (await c.query<{ one: number }>('select 1 as one')).rows);

// Creating a cluster is the slow part: the tests of lasting folders share one, each leaves it without a server.
let dataDir = '';
beforeAll(async () => {
  dataDir = join(temporaryFolder('pg'), 'nested', 'postgres');
  const server = await startEmbedded({ dataDir });
  await withClient(server.url, (client) => client.query('create table kept as select 42 as n'));
  await server.stop();
});

describe('an ephemeral server', () => {
  it('listens on loopback only, as a UTF-8 server that can replicate logically; its folder goes with it', async () => {
    const server = await start({ ephemeral: true, settings: { max_connections: '33' } });
    const setting = (name: string) =>
      withClient(server.url, async (client) => {
        const { rows } = await client.query<{ value: string }>('select current_setting($1) as value', [name]);
        return rows[0]?.value;
      });
    expect(server).toMatchObject({ host: '127.0.0.1', user: 'postgres' });
    expect(await setting('listen_addresses')).toBe('127.0.0.1');
    expect(await setting('unix_socket_directories')).toBe('');
    expect(await setting('server_encoding')).toBe('UTF8');
    expect(await setting('wal_level')).toBe('logical');
    expect(await setting('fsync')).toBe('off');
    expect(await setting('max_connections')).toBe('33');

    expect(existsSync(server.dataDir)).toBe(true);
    await server.stop();
    expect(existsSync(server.dataDir)).toBe(false);
    expect(await server.exited).toMatchObject({ expected: true, code: 0 });
  });

  it('chooses its own folder', async () => {
    await expect(startEmbedded({ ephemeral: true, dataDir: '/tmp/x' })).rejects.toThrow('not both');
  });
});

describe('a lasting server', () => {
  it('keeps its data from one start to the next, and is durable by default', async () => {
    const server = await start({ dataDir });
    const rows = await withClient(
      server.url,
      async (client) => (await client.query("select n, current_setting('fsync') as fsync from kept")).rows,
    );
    expect(rows).toEqual([{ n: 42, fsync: 'on' }]);
  });

  it('reports its own death, and can be stopped and started after it', async () => {
    const notices: ExitNotice[] = [];
    const server = await start({ dataDir, onExit: (notice) => notices.push(notice) });
    process.kill(server.pid, 'SIGKILL');
    expect(await server.exited).toMatchObject({ expected: false, code: 137 });
    await server.stop();
    await server.stop();
    expect(notices).toHaveLength(1);
    const again = await start({ dataDir });
    expect(await one(again.url)).toEqual([{ one: 1 }]);
  });

  it('says so when its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    afterThisTest(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await expect(startEmbedded({ dataDir, port })).rejects.toThrow(`could not listen on 127.0.0.1:${port}`);
  });
});

describe('a data folder', () => {
  it('is refused while another process runs a server on it, naming that server', async () => {
    const server = await start({ dataDir });
    await expect(startEmbedded({ dataDir })).rejects.toThrow(
      new RegExp(`process ${server.pid}, port ${server.port}\\) is already running.*--database-url`, 's'),
    );
    expect(await one(server.url)).toEqual([{ one: 1 }]);
  });

  it('is free when its pid file names a process that is something else by now', async () => {
    const file = join(dataDir, 'postmaster.pid');
    writeFileSync(file, `${process.pid}\n${dataDir}\n1\n5432\n\n127.0.0.1\n\nready\n`);
    const server = await start({ dataDir });
    expect(await one(server.url)).toEqual([{ one: 1 }]);
  });

  it('is left alone when it is not empty and no cluster', async () => {
    const folder = temporaryFolder('pg');
    writeFileSync(join(folder, 'thesis.txt'), 'irreplaceable');
    await expect(startEmbedded({ dataDir: folder })).rejects.toThrow('is no PostgreSQL data folder');
  });

  it('of another major version is refused', async () => {
    const file = join(dataDir, 'PG_VERSION');
    const version = readFileSync(file);
    afterThisTest(() => writeFileSync(file, version));
    writeFileSync(file, '11\n');
    await expect(startEmbedded({ dataDir })).rejects.toThrow(/written by PostgreSQL 11, the installed binaries are/);
  });
});

describe('when the process that started it is killed', () => {
  it('an ephemeral server and its folder are gone', async () => {
    const parent = spawnNode(program, [JSON.stringify({ ephemeral: true })]);
    const { url, pid, dataDir } = await parent.line<{ url: string; pid: number; dataDir: string }>((l) => 'pid' in l);
    expect(await one(url)).toEqual([{ one: 1 }]);
    await parent.kill('SIGKILL');
    await eventually(() => !isAlive(pid), { what: 'the end of the postmaster' });
    await eventually(() => !existsSync(dataDir), { what: 'the removal of the folder' });
  });

  it('a paused one too, and the folder of a lasting one can be used at once', async () => {
    const parent = spawnNode(program, [JSON.stringify({ dataDir })]);
    const { pid } = await parent.line<{ pid: number }>((l) => 'pid' in l);
    parent.pause();
    await parent.kill('SIGKILL');
    const next = await start({ dataDir });
    expect(isAlive(pid)).toBe(false);
    expect(await one(next.url)).toEqual([{ one: 1 }]);
  });

  it('in the middle of creating a cluster, nothing half-made has the final name', async () => {
    const folder = temporaryFolder('pg');
    const unfinished = join(folder, 'postgres');
    const parent = spawnNode(program, [JSON.stringify({ dataDir: unfinished, durable: false })]);
    await eventually(() => existsSync(folder) && hasEntry(folder), { everyMs: 2, what: 'initdb at work' });
    await parent.kill('SIGKILL');
    expect(existsSync(unfinished)).toBe(false);
    const next = await start({ dataDir: unfinished, durable: false });
    expect(await one(next.url)).toEqual([{ one: 1 }]);
  });
});

const hasEntry = (folder: string): boolean => statSync(folder).nlink > 2;

describe('an ordinary user', () => {
  it('runs a server as itself', async (context) => {
    const root = process.getuid?.() === 0;
    if (root && !othersMayEnter(program.pathname)) context.skip('this checkout lies below a folder closed to others');
    const as = root ? { uid: 65534, gid: 65534, env: { HOME: '/nonexistent' } } : {};
    const parent = spawnNode(program, [JSON.stringify({ ephemeral: true })], as);
    const { url, pid, uid } = await parent.line<{ url: string; pid: number; uid: number }>((l) => 'pid' in l);
    expect(uid).not.toBe(0);
    expect(await one(url)).toEqual([{ one: 1 }]);
    parent.send('stop');
    await parent.line((l) => l['stopped'] === true);
    expect(isAlive(pid)).toBe(false);
  });
});

function othersMayEnter(path: string): boolean {
  const parent = join(path, '..');
  return parent === path || ((statSync(parent).mode & 0o001) !== 0 && othersMayEnter(parent));
}
