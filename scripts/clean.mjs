// Removes what a build makes (dist, the embedded SQL), and nothing else.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const folders = workspaces.flatMap((pattern) => {
  if (!pattern.endsWith('/*')) return [pattern];
  const parent = pattern.slice(0, -'/*'.length);
  return existsSync(join(root, parent)) ? readdirSync(join(root, parent)).map((name) => join(parent, name)) : [];
});

for (const folder of folders) rmSync(join(root, folder, 'dist'), { recursive: true, force: true });
rmSync(join(root, 'packages/comanda/src/generated'), { recursive: true, force: true });
