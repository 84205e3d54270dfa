import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { findInCode, productSources, report, type Source } from './sources.js';

const KERNEL = 'packages/comanda/src/kernel';
const sources = productSources();

/** Names a global that the library may not touch, e.g. `process.env` or `new Pool`. */
function ambient(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
    const text = `${node.expression.text}.${node.name.text}`;
    if (/^(process\.(env|on|once|exit|exitCode|argv|stdout|stderr|kill)|console\.\w+)$/.test(text)) return text;
  }
  if (ts.isNewExpression(node) && /(^|\.)Pool$/.test(node.expression.getText())) {
    return `new ${node.expression.getText()}`;
  }
  return undefined;
}

const TIME = new Set(['setTimeout', 'setInterval', 'setImmediate']);
const RANDOM = new Set(['randomUUID', 'randomBytes', 'randomInt', 'getRandomValues']);

function timeOrChance(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) {
    const text = node.getText();
    // The civil time of the host repeats and leaves out hours (T05).
    if (/^(get|set)(Hours|Minutes|Seconds|Date|Day|Month|FullYear|TimezoneOffset)$/.test(node.name.text))
      return `local time: ${node.name.text}`;
    if (/^toLocale(Date|Time)String$/.test(node.name.text)) return `local time: ${node.name.text}`;
    if (/^(Date\.now|performance\.now|process\.hrtime|Math\.random|AbortSignal\.timeout)$/.test(text)) return text;
  }
  if (ts.isNewExpression(node) && node.expression.getText() === 'Date') return 'new Date';
  if (ts.isIdentifier(node) && (TIME.has(node.text) || RANDOM.has(node.text)) && isUse(node)) return node.text;
  if (
    ts.isImportDeclaration(node) &&
    /^['"](node:)?(timers|timers\/promises|perf_hooks)['"]$/.test(node.moduleSpecifier.getText())
  ) {
    return `import of ${node.moduleSpecifier.getText()}`;
  }
  return undefined;
}

/** A property name, a member of a type or a parameter called `setTimeout` (an injected clock) is not a use of the global. */
function isUse(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isCallExpression(parent)) return parent.expression === node || parent.arguments.includes(node);
  if (ts.isPropertyAccessExpression(parent)) {
    return parent.name === node && /^(globalThis|crypto|webcrypto|nodeCrypto)$/.test(parent.expression.getText());
  }
  return ts.isImportSpecifier(parent);
}

function mutableModuleState(source: Source): string[] {
  return report([source], (s) =>
    findInCode(s, (node) => {
      if (!ts.isVariableStatement(node) || !ts.isSourceFile(node.parent)) return undefined;
      return node.declarationList.flags & ts.NodeFlags.Const
        ? undefined
        : `module-level ${node.getText().slice(0, 60)}`;
    }),
  );
}

describe('a library stays a library', () => {
  test('it reads no environment, handles no signals, prints nothing and opens no pool', () => {
    expect(report(sources, (s) => findInCode(s, ambient))).toEqual([]);
  });

  test('T05: no periodic work and nothing else knows the civil time of its host; time comes from kernel/clock.ts and chance from kernel/ids.ts', () => {
    const owners = new Set([`${KERNEL}/clock.ts`, `${KERNEL}/ids.ts`]);
    const others = sources.filter(({ path }) => !owners.has(path));
    expect(report(others, (s) => findInCode(s, timeOrChance))).toEqual([]);
  });

  test('no module keeps state of its own', () => {
    expect(sources.flatMap(mutableModuleState)).toEqual([]);
  });
});

describe('the rules themselves', () => {
  const found = (text: string, visit: (node: ts.Node) => string | undefined): string[] =>
    findInCode({ path: 'x.ts', text }, visit).map(({ what }) => what);

  test.each([
    ['const a = process.env["A"]', 'process.env'],
    ['process.on("SIGTERM", stop)', 'process.on'],
    ['console.log(1)', 'console.log'],
    ['const p = new pg.Pool()', 'new pg.Pool'],
  ])('%s is seen', (text, what) => {
    expect(found(text, ambient)).toEqual([what]);
  });

  test.each([
    ['const t = Date.now()', 'Date.now'],
    ['const t = new Date()', 'new Date'],
    ['performance.now()', 'performance.now'],
    ['at.getHours()', 'local time: getHours'],
    ['at.toLocaleTimeString()', 'local time: toLocaleTimeString'],
    ['setTimeout(f, 1)', 'setTimeout'],
    ['wait(setTimeout)', 'setTimeout'],
    ['Math.random()', 'Math.random'],
    ['import { randomUUID as id } from "node:crypto"', 'randomUUID'],
    ['crypto.randomUUID()', 'randomUUID'],
    ['import { setTimeout as sleep } from "node:timers/promises"', 'import of "node:timers/promises"'],
  ])('%s is seen', (text, what) => {
    expect(found(text, timeOrChance)).toContain(what);
  });

  test.each([
    ['// Date.now() is forbidden here'],
    ['const text = "new Date()"'],
    ['const clock = { setTimeout: 1 }; clock.setTimeout'],
    ['function f(at: Date): Date { return at }'],
  ])('%s is no finding', (text) => {
    expect([...found(text, ambient), ...found(text, timeOrChance)]).toEqual([]);
  });
});
