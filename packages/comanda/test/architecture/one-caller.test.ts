import ts from 'typescript';
import { expect, test } from 'vitest';
import { findInCode, productSources, report } from './sources.js';

const RELAY = 'packages/comanda/src/relay';
// Wraps the functions of the kind's author (input parsing); the wrapper it makes is again called by the owners only.
const DEFINITION = `${RELAY}/define-effect.ts`;
// Conformance suites exercise kinds directly: they are judges, not product.
const sources = productSources().filter(({ path }) => !path.startsWith('packages/comanda/src/testing/'));

/** `x.perform(…)`, `x.perform?.(…)` and `x.perform.call(…)` alike. */
function calls(method: string): (node: ts.Node) => string | undefined {
  return (node) => {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
    const { name, expression } = node.expression;
    const indirect = /^(call|apply|bind)$/.test(name.text) && ts.isPropertyAccessExpression(expression);
    return (indirect ? expression.name.text : name.text) === method ? `.${method}(` : undefined;
  };
}

test.each([
  // Off means off: one place re-reads the switch and the lease, and only behind it a kind may act.
  { method: 'perform', owner: `${RELAY}/dispatch.ts` },
  { method: 'reconcile', owner: `${RELAY}/reconcile-effect.ts` },
])('only $owner calls .$method()', ({ method, owner }) => {
  const others = sources.filter(({ path }) => path !== owner && path !== DEFINITION);
  expect(report(others, (s) => findInCode(s, calls(method)))).toEqual([]);
});

test.each(['kind.perform(a)', 'kind.perform?.(a)', 'kind.perform.call(kind, a)', 'a.b.kind.perform(a)'])(
  '%s counts as a call',
  (text) => {
    expect(findInCode({ path: 'x.ts', text }, calls('perform'))).toHaveLength(1);
  },
);
