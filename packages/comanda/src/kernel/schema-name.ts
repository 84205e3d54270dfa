import { comandaError } from './errors.js';

/** The schema of an installation unless another one is named. */
export const DEFAULT_SCHEMA = 'comanda';

const MAX_IDENTIFIER_BYTES = 63;

/**
 * Checks the name of a schema and returns it. Capitals, spaces, dashes and quotes are fine.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG for names that PostgreSQL would cut, reserves, or that cannot stand inside our functions
 */
export function checkSchemaName(name: string): string {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > MAX_IDENTIFIER_BYTES) {
    throw invalid(`the schema name has ${bytes} bytes, PostgreSQL keeps 1 to ${MAX_IDENTIFIER_BYTES}`);
  }
  // A line break would end a comment in our SQL files, and what follows would run.
  if (/\p{Cc}/u.test(name)) throw invalid('the schema name holds a control character');
  if (/\$(fn|do)\$/.test(name)) throw invalid('the schema name holds $fn$ or $do$, which delimit our functions');
  if (/^pg_/i.test(name) || name === 'information_schema')
    throw invalid(`the schema name ${name} is reserved by PostgreSQL`);
  return name;
}

/** `My-Schema` becomes `"My-Schema"`. Always quoted, so that no name is folded to lower case. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Rewrites SQL that was written against the literal schema `comanda` for another schema.
 * Three places are rewritten: qualifiers (`comanda.run`), regclass literals (`'comanda.run'::`) and `schema comanda`.
 * Settings such as `'comanda.role_prefix'` are no relations and stay.
 */
export function inSchema(sql: string, schema: string): string {
  if (schema === DEFAULT_SCHEMA) return sql;
  const quoted = quoteIdentifier(checkSchemaName(schema));
  const literal = quoted.replaceAll("'", "''");
  return sql
    .replace(/'comanda\.(\w+)'::/g, (_, relation: string) => `'${literal}.${relation}'::`)
    .replace(/(?<![\w.'$"-])comanda\.(?=[a-z_])/g, () => `${quoted}.`)
    .replace(/\bschema comanda\b/g, () => `schema ${quoted}`);
}

function invalid(problem: string): Error {
  return comandaError('COMANDA_INVALID_CONFIG', { problem });
}
