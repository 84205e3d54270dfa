import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { table } from './markdown.mjs';
import { docOf } from './options.mjs';

/** Named limits with their values, in the order of the file. */
export function limitsTable(file, limits, leftOut) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2023, true);
  const rows = source.statements.flatMap((statement) => {
    if (!ts.isVariableStatement(statement) || statement.modifiers === undefined) return [];
    return statement.declarationList.declarations
      .map((declaration) => declaration.name.getText())
      .filter((name) => !leftOut.includes(name))
      .map((name) => [`\`${name}\``, shown(name, limits[name]), docOf(statement)]);
  });
  return table(['limit', 'value', 'about'], rows);
}

const UNITS_MS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
  [1, 'ms'],
];

function shown(name, value) {
  if (name.endsWith('_MS')) {
    const [size, unit] = UNITS_MS.find(([ms]) => value >= ms && value % ms === 0) ?? [1, 'ms'];
    return `${value / size} ${unit}`;
  }
  if (name.endsWith('_BYTES')) {
    if (value % 1_048_576 === 0) return `${value / 1_048_576} MiB`;
    return value % 1_024 === 0 ? `${value / 1_024} KiB` : `${value} bytes`;
  }
  return String(value);
}
