import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '@comanda/test-support';
import { type Mutation, mutated } from './mutation.js';

/** A copy of the repository's working tree, built as it is, in which files may be changed. */
export interface Tree {
  readonly folder: string;
  /** Applies the edits of one mutation; returns what puts the files back. */
  apply(mutation: Mutation): () => void;
}

/** Copies what git knows or would add, and what is built; links the dependencies. */
export function copyTree(root: string): Tree {
  const folder = temporaryFolder('mutants');
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' });
  const built = ['packages/comanda', 'packages/cli', 'test-support', 'examples/cumbre', 'proof', 'bench'];
  const folders = built.flatMap((one) => [`${one}/dist`, `${one}/src/generated`, `${one}/node_modules`]);
  for (const path of [...listed.split('\0').filter((name) => name !== ''), ...folders]) {
    const from = join(root, path);
    // Times are kept: the compiler takes what is built for what it is.
    if (existsSync(from))
      cpSync(from, join(folder, path), { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  }
  linkDependencies(join(root, 'node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    apply: (mutation) => {
      const files = [...new Set(mutation.edits.map(({ file }) => file))].map((file) => {
        const path = join(folder, file);
        return { file, path, text: readFileSync(path, 'utf8') };
      });
      for (const { file, path, text } of files) {
        const edits = mutation.edits.filter((edit) => edit.file === file);
        writeFileSync(path, mutated(text, edits, mutation.name));
      }
      return () => {
        for (const { path, text } of files) writeFileSync(path, text);
      };
    },
  };
}

/** Links to packages of the workspace stay relative, so that they lead into the copy; everything else leads to the original. */
function linkDependencies(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    const original = join(from, name);
    if (lstatSync(original).isSymbolicLink()) symlinkSync(readlinkSync(original), join(to, name));
    else if (name.startsWith('@')) linkDependencies(original, join(to, name));
    else symlinkSync(original, join(to, name));
  }
}

/** Where the repository is: the folder with the lock file, above this one. */
export function rootOf(folder: string): string {
  return existsSync(join(folder, 'package-lock.json')) ? folder : rootOf(dirname(folder));
}
