import type { MigrateResult } from 'comanda/internal';
import { paragraph } from './format.js';
import { styled, visible } from './visible.js';

/** What a migration did. */
export function migrateLines(
  result: MigrateResult,
  environment: string,
  shown: string,
  columns: number | undefined,
): readonly string[] {
  const { schema, from, to, applied, routines, missingRoles } = result;
  const where = `Schema ${schema} in ${shown}`;
  const did =
    from === 0
      ? `${where} is installed, version ${to}.`
      : applied.length > 0
        ? `${where} went from version ${from} to ${to}.`
        : routines
          ? `${where} has version ${to}; its functions, views and rights were written again.`
          : `${where} has version ${to}; there was nothing to do.`;
  return [
    visible(did),
    ...applied.map((name) => `  ${visible(name)}`),
    ...(environment === 'unset'
      ? paragraph(
          'Name its environment, so that a copy of it can be told apart: comanda migrate --environment production',
          columns,
        )
      : [visible(`Environment: ${environment}.`)]),
    ...(missingRoles.length === 0
      ? []
      : [
          ...paragraph(
            'This login may not create roles. An administrator creates them, then migrate once more:',
            columns,
          ).map((line) => styled(line, 'yellow')),
          ...missingRoles.map((role) => `  create role ${visible(`"${role.replaceAll('"', '""')}"`)} nologin;`),
        ]),
  ];
}
