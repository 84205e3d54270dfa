// Packs the published packages as npm would, and judges the tarballs: publint, arethetypeswrong, a list of what may be
// inside, and a stranger's project that installs them, compiles against every door and runs.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folders = ['packages/comanda', 'packages/cli'];
const allowed = [
  /^bin\/comanda\.js$/,
  /^dist\/.+\.js$/,
  /^dist\/.+\.js\.map$/,
  /^dist\/.+\.d\.ts$/,
  /^(package\.json|README\.md|LICENSE)$/,
];
const required = ['package.json', 'README.md', 'LICENSE'];
const bin = (name) => join(root, 'node_modules/.bin', name);
const temp = mkdtempSync(join(tmpdir(), 'comanda-packages-'));
const problems = [];

/** Runs a program; its output is shown only when it fails. */
function run(label, command, args, cwd = root) {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 300_000 });
  } catch (error) {
    problems.push(`${label}:\n${error.stdout ?? ''}${error.stderr ?? ''}`.trimEnd() || `${label}: ${error.message}`);
    return undefined;
  }
}

function pack(folder) {
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const out = run(
    `npm pack ${folder}`,
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', temp],
    join(root, folder),
  );
  if (out === undefined) return undefined;
  const [packed] = JSON.parse(out);
  const inside = packed.files.map((file) => file.path);
  for (const path of inside) {
    if (!allowed.some((pattern) => pattern.test(path)) || /\.test\./.test(path))
      problems.push(`${manifest.name}: ${path} must not be published`);
  }
  for (const path of inside.filter((file) => /^dist\/.+\.js$/.test(file))) {
    const source = path.replace(/^dist\/(.+)\.js$/, 'src/$1.ts');
    if (!existsSync(join(root, folder, source)))
      problems.push(`${manifest.name}: ${path} is left over from an older build (npm run clean)`);
  }
  for (const path of [...required, ...targets(manifest)]) {
    if (!inside.includes(path)) problems.push(`${manifest.name}: ${path} is missing from the tarball`);
  }
  return { manifest, tarball: join(temp, packed.filename) };
}

/** Every file that "exports" and "bin" promise. */
function targets(manifest) {
  const leaves = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(leaves));
  return [...leaves(manifest.exports ?? {}), ...leaves(manifest.bin ?? {})].map((path) => path.replace(/^\.\//, ''));
}

const doors = ({ manifest }) =>
  Object.keys(manifest.exports)
    .filter((key) => key !== './package.json')
    .map((key) => manifest.name + key.slice(1));

/** A project outside the repository, as a user would make one: no workspace, no hoisted neighbour. */
function installElsewhere(packages) {
  const project = join(temp, 'project');
  mkdirSync(project);
  const specifiers = packages.flatMap(doors);
  const imports = specifiers.map((name, i) => `import * as door${i} from '${name}';`);
  const list = specifiers.map((name, i) => `['${name}', Object.keys(door${i}).length]`);
  const lines = [
    ...imports,
    `for (const [name, size] of [${list.join(', ')}] as const) {`,
    "  if (size === 0) throw new Error(name + ' exports nothing');",
    '}',
    '',
  ];
  writeFileSync(join(project, 'main.ts'), lines.join('\n'));
  writeFileSync(
    join(project, 'package.json'),
    `${JSON.stringify({ name: 'stranger', private: true, type: 'module' })}\n`,
  );
  const compilerOptions = {
    target: 'ES2023',
    module: 'NodeNext',
    strict: true,
    exactOptionalPropertyTypes: true,
    verbatimModuleSyntax: true,
    outDir: 'out',
    rootDir: '.',
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }));

  const tarballs = packages.map(({ tarball }) => tarball);
  // The optional PostgreSQL binaries are 60 MB and have no part in what is asked here.
  const flags = [
    '--ignore-scripts',
    '--omit=optional',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
  ];
  if (run('install the tarballs', 'npm', ['install', ...flags, ...tarballs], project) === undefined) return;
  if (run('compile against the tarballs', bin('tsc'), ['-p', '.'], project) === undefined) return;
  run('run against the tarballs', process.execPath, ['out/main.js'], project);
  for (const { manifest } of packages) {
    for (const name of Object.keys(manifest.bin ?? {})) {
      const version = run(`${name} --version`, join(project, 'node_modules/.bin', name), ['--version'], project);
      if (version !== undefined && !version.includes(manifest.version))
        problems.push(`${name} --version printed ${JSON.stringify(version)}`);
    }
  }
}

try {
  const packages = folders.filter((folder) => existsSync(join(root, folder, 'package.json'))).map(pack);
  for (const packed of packages) {
    if (packed === undefined) continue;
    run(`publint ${packed.manifest.name}`, bin('publint'), ['run', packed.tarball, '--strict']);
    run(`attw ${packed.manifest.name}`, bin('attw'), [
      packed.tarball,
      '--profile',
      'esm-only',
      '--no-emoji',
      '--no-color',
    ]);
  }
  if (problems.length === 0) installElsewhere(packages);
} finally {
  rmSync(temp, { recursive: true, force: true });
}

for (const problem of problems) console.error(`PACKAGE CHECK FAILED ${problem}`);
if (problems.length > 0) process.exit(1);
