import { execFile } from 'node:child_process';
import { chownSync, copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  afterThisTest,
  type EmbeddedServer,
  eventually,
  needService,
  programPath,
  startEmbedded,
  temporaryFolder,
  withClient,
} from '@comanda/test-support';
import { expect, test } from 'vitest';
import { comandaStays, on } from './cli.js';

const CONFIG = fileURLToPath(new URL('./fixtures/relay-config.mjs', import.meta.url));

/** A certificate for one host name, signed by itself: it is its own CA. */
async function certificate(openssl: string, host: string): Promise<{ readonly cert: string; readonly key: string }> {
  const folder = temporaryFolder('tls');
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const subject = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  await promisify(execFile)(openssl, [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'],
    ...['-keyout', key, '-out', cert],
    ...subject,
  ]);
  return { cert, key };
}

/** Makes the server speak TLS with this certificate, and refuse everything else. */
async function serveTls(server: EmbeddedServer, { cert, key }: { cert: string; key: string }): Promise<void> {
  const { uid, gid } = statSync(server.dataDir);
  for (const [from, name] of [
    [cert, 'server.crt'],
    [key, 'server.key'],
  ] as const) {
    const to = join(server.dataDir, name);
    copyFileSync(from, to);
    chownSync(to, uid, gid);
  }
  await withClient(server.url, async (client) => {
    await client.query(`alter system set ssl = 'on'`);
    await client.query('select pg_reload_conf()');
  });
}

test('TLS to PostgreSQL: the right CA and host name work in every command; a wrong one is one line that says what to do', async (context) => {
  const openssl = programPath('openssl');
  needService(context, 'openssl', openssl !== undefined, 'apt-get install openssl');
  const [here, elsewhere] = [
    await certificate(openssl ?? '', 'localhost'),
    await certificate(openssl ?? '', 'db.example.test'),
  ];
  const server = await startEmbedded({ ephemeral: true });
  afterThisTest(() => server.stop());
  const url = (query: string) => `postgresql://postgres@localhost:${server.port}/postgres?${query}`;
  const good = url(`sslmode=verify-full&sslrootcert=${here.cert}`);
  const refused = async (where: string, why: RegExp) => {
    for (const command of ['status', 'migrate']) {
      const { code, out, err } = await on(where)(command, ...(command === 'migrate' ? ['--environment', 'test'] : []));
      expect([code, out]).toEqual([6, '']);
      expect(err).toMatch(/^comanda: [^\n]*sslrootcert[^\n]*\(CLI_UNREACHABLE, [^\n]*\n$/);
      expect(err).toMatch(why);
    }
  };
  await refused(good, /does not support SSL/);

  await serveTls(server, here);
  const run = on(good);
  await eventually(async () => (await run('migrate', '--environment', 'test')).code === 0, {
    what: 'a migration over TLS',
    withinMs: 30_000,
  });
  for (const mode of [good, url('sslmode=no-verify'), url('uselibpqcompat=true&sslmode=require')]) {
    const { code, err } = await on(mode)('status');
    expect([code, err]).toEqual([0, '']);
  }
  const relay = comandaStays(['relay', '--config', CONFIG, '--json', '--database-url', good]);
  await relay.line((line) => line['event'] === 'listen', 30_000);
  const { rows } = await withClient(server.url, (client) =>
    client.query(
      `select count(*)::int as sessions, bool_and(s.ssl) as all_tls from pg_stat_ssl s join pg_stat_activity a using (pid) where a.application_name like 'comanda%'`,
    ),
  );
  expect(rows).toEqual([{ sessions: expect.any(Number), all_tls: true }]);
  expect(rows[0].sessions).toBeGreaterThan(1);
  expect((await relay.kill('SIGTERM')).code).toBe(0);

  await refused(url(`sslmode=verify-full&sslrootcert=${elsewhere.cert}`), /self.signed certificate/);
  await refused(url('sslmode=verify-full'), /self.signed certificate/);
  const lost = await on(url('sslmode=verify-full&sslrootcert=/nowhere/ca.pem'))('status');
  expect([lost.code, lost.out]).toEqual([2, '']);
  expect(lost.err).toMatch(/^comanda: [^\n]*\/nowhere\/ca\.pem[^\n]*sslrootcert[^\n]*\(CLI_CONFIG, [^\n]*\n$/);

  await serveTls(server, elsewhere);
  await refused(url(`sslmode=verify-full&sslrootcert=${elsewhere.cert}`), /does not match certificate/);
}, 120_000);
