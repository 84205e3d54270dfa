/**
 * A statement for clients that have `?` for each parameter, in its order, where ours have `$1 … $n`; a question mark that is none gets a backslash, as
 * Knex and MikroORM take it.
 */
export function withQuestionMarks(
  text: string,
  params: readonly unknown[],
): { readonly sql: string; readonly values: unknown[] } {
  const values: unknown[] = [];
  const sql = text.replaceAll('?', '\\?').replace(/\$(\d+)/g, (_, n: string) => {
    values.push(params[Number(n) - 1]);
    return '?';
  });
  return { sql, values };
}
