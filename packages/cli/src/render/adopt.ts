import type { StatusRow } from 'comanda/internal';
import type { AdoptedRow } from '../doors.js';
import { grouped, heading } from './format.js';
import { styled, visible } from './visible.js';

/** What an adoption would change, and what would leave afterwards. */
export function proposalLines(
  was: AdoptedRow,
  next: AdoptedRow,
  { status, live }: { readonly status: StatusRow; readonly live: number },
): readonly string[] {
  const rows: readonly (readonly [string, unknown, unknown])[] = [
    ['server', was.system_identifier, next.system_identifier],
    ['database', was.database_oid, next.database_oid],
    ['timeline', was.timeline, next.timeline],
    ['environment', was.environment, next.environment],
    ['endpoint', was.endpoint, next.endpoint ?? 'where the next relay reaches it'],
  ];
  return [
    heading('Adopted is'),
    ...rows.map(([name, before, after]) => line(name, before, after)),
    visible(`  ${'by'.padEnd(11)} ${was.adopted_by ?? 'nobody'}`),
    '',
    `${grouped(status.pending)} pending, ${grouped(status.sending)} sending, ${grouped(status.waiting)} waiting, ${grouped(status.unknown)} unknown. Relays heard here: ${live}.`,
    'What is pending leaves as soon as a relay may act.',
  ];
}

/** After it was adopted. */
export function adoptedLines(status: StatusRow): readonly string[] {
  return [
    `Adopted. Relays that are configured for it go on with ${grouped(status.pending)} pending effects within a second.`,
  ];
}

function line(name: string, before: unknown, after: unknown): string {
  const [old, now] = [String(before ?? 'none'), String(after ?? 'none')];
  const text = `  ${name.padEnd(11)} ${old === now ? old : `${old} -> ${now}`}`;
  return old === now ? visible(text) : styled(visible(text), 'yellow');
}
