import type { MigrateResult } from 'comanda/internal';
import type { DatabaseChoice } from '../database-choice.js';
import { heading } from './format.js';
import { styled, visible } from './visible.js';

interface DevPage {
  readonly server: { readonly version: string; readonly url: string };
  /** As the reader would write it. */
  readonly folder: string;
  readonly migrated: MigrateResult;
  readonly choice: DatabaseChoice;
  readonly withRelay: boolean;
}

/** What there is now, and what to do next. */
export function devLines({ server, folder, migrated, choice, withRelay }: DevPage): readonly string[] {
  const schema =
    migrated.from === 0
      ? `installed, version ${migrated.to}`
      : migrated.from === migrated.to
        ? `version ${migrated.to}`
        : `version ${migrated.from} → ${migrated.to}`;
  const commands = [
    ['how much is unfinished', `comanda status ${choice.flags}`],
    ...(withRelay ? [] : [['execute effects', `comanda relay ${choice.flags} --config FILE`]]),
    ['the story of one key', `comanda explain KEY ${choice.flags}`],
    ['SQL', `psql ${server.url}`],
  ] as const;
  return [
    heading(`PostgreSQL ${server.version} with the schema comanda (${schema})`),
    '',
    `  ${styled(server.url, 'green')}`,
    '',
    `Data: ${visible(folder)}`,
    'Next, in another terminal in this folder:',
    ...commands.map(([what, line]) => `  ${styled(visible((what ?? '').padEnd(22)), 'dim')}  ${visible(line ?? '')}`),
    '',
    'Ctrl-C stops it.',
  ];
}
