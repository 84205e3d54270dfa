import { chmodSync, existsSync, mkdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defaultDataDir } from '@comanda/cli/embedded';
import { afterThisTest, temporaryFolder } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { usableBinaries } from '../../src/embedded/binaries.js';
import { canReach } from '../../src/embedded/folders.js';
import { locateBinaries } from '../../src/embedded/locate.js';

const STRANGER = { uid: 65533, gid: 65533, name: 'stranger' };

/** A package as npm unpacks it when install scripts are blocked: no symlinks. */
function unpacked(): { root: string; version: string; major: number } {
  const root = join(temporaryFolder('package'), 'native');
  for (const dir of ['bin', 'lib', 'share']) mkdirSync(join(root, dir), { recursive: true });
  for (const name of ['postgres', 'initdb']) writeFileSync(join(root, 'bin', name), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(root, 'lib', 'libx.so.1.2'), 'x');
  const links = [
    { source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so' },
    { source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so.1' },
  ];
  writeFileSync(join(root, 'pg-symlinks.json'), JSON.stringify(links));
  return { root, version: `0.${process.hrtime.bigint()}`, major: 0 };
}

describe('binaries', () => {
  it('get the symlinks that a blocked install script did not make', () => {
    const binaries = unpacked();
    expect(usableBinaries(binaries, undefined)).toEqual(binaries);
    expect(readlinkSync(join(binaries.root, 'lib', 'libx.so'))).toBe('libx.so.1.2');
    expect(readlinkSync(join(binaries.root, 'lib', 'libx.so.1'))).toBe('libx.so.1.2');
    expect(usableBinaries(binaries, undefined)).toEqual(binaries);
  });

  it('are copied, once, to where the user of the server can reach them', () => {
    const binaries = unpacked();
    chmodSync(join(binaries.root, '..'), 0o700);
    expect(canReach(binaries.root, STRANGER)).toBe(false);
    const copy = usableBinaries(binaries, STRANGER);
    const home = dirname(copy.root);
    afterThisTest(() => rmSync(home, { recursive: true, force: true }));
    expect(copy.root.startsWith(tmpdir())).toBe(true);
    expect(canReach(copy.root, STRANGER)).toBe(true);
    expect(readlinkSync(join(copy.root, 'lib', 'libx.so.1'))).toBe('libx.so.1.2');
    const made = statSync(home).ino;
    expect(usableBinaries(binaries, STRANGER)).toEqual(copy);
    expect(statSync(home).ino).toBe(made);
    // Cleaners of temporary folders remove single old files.
    rmSync(join(copy.root, 'lib', 'libx.so.1.2'));
    expect(usableBinaries(binaries, STRANGER)).toEqual(copy);
    expect(existsSync(join(copy.root, 'lib', 'libx.so.1.2'))).toBe(true);
  });

  it('are missing for some platforms: the error names the platform and the way out', () => {
    expect(() => locateBinaries(undefined, 'sunos-sparc')).toThrow(/for sunos-sparc.*--database-url/);
    expect(() => locateBinaries(undefined, 'win32-x64')).toThrow(/WSL/);
  });
});

describe('the default data folder', () => {
  it('is .comanda/postgres in the project', () => {
    const project = temporaryFolder('project');
    chmodSync(project, 0o755);
    expect(defaultDataDir(project)).toBe(join(project, '.comanda', 'postgres'));
  });

  it('is a folder for temporary files, the same each time, when the server could not use the project', () => {
    const home = temporaryFolder('home');
    const project = join(home, 'project');
    mkdirSync(project);
    chmodSync(project, 0o555); // no place to write, for an ordinary user
    chmodSync(home, process.getuid?.() === 0 ? 0o700 : 0o755); // no way in, for the user that root hands the server to
    const dir = defaultDataDir(project);
    expect(dirname(dir)).toBe(tmpdir());
    expect(defaultDataDir(project)).toBe(dir);
    expect(defaultDataDir(join(project, 'other'))).not.toBe(dir);
  });
});
