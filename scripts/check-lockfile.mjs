// The lockfile must work behind any registry (no download addresses) and must describe the manifests it stands beside.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const lock = read('package-lock.json');
const problems = [];

for (const [path, entry] of Object.entries(lock.packages)) {
  if (typeof entry.resolved === 'string' && /^[a-z+]+:\/\//.test(entry.resolved)) {
    problems.push(`${path} carries a download address; run "npm install" with the repository's .npmrc`);
  }
}

const version = read('package.json').version;
const workspaces = Object.keys(lock.packages).filter((path) => path !== '' && !path.includes('node_modules'));
const names = new Set(workspaces.map((path) => read(join(path, 'package.json')).name));
for (const path of workspaces) {
  const manifest = read(join(path, 'package.json'));
  if (manifest.version !== version) problems.push(`${path} has version ${manifest.version}, the repository ${version}`);
  for (const [name, wanted] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    if (names.has(name) && wanted !== version)
      problems.push(`${path} wants ${name} ${wanted}, the repository has ${version}`);
    if (!/^(npm:.+@)?\d+\.\d+\.\d+/.test(wanted))
      problems.push(`${path}: ${name} is not pinned to one version (${wanted})`);
  }
}

for (const problem of problems) console.error(`LOCKFILE CHECK FAILED ${problem}`);
if (problems.length > 0) process.exit(1);
