import {
  type AttemptRow,
  age,
  ahead,
  duration,
  type EffectFile,
  type EffectListRow,
  type EffectRow,
  type OutcomeRow,
  type RequestRow,
  shortRelay,
} from 'comanda/internal';
import { heading, momentOrNothing, paragraph, stateStyle } from './format.js';
import { type Column, table } from './table.js';
import { styled, visible } from './visible.js';

/** A list of effects. */
export function effectListLines(
  rows: readonly EffectListRow[],
  more: boolean,
  suggest: (command: string) => string,
  columns: number | undefined,
): readonly string[] {
  if (rows.length === 0) return ['No effect fits.'];
  const cells: readonly Column<EffectListRow>[] = [
    { title: 'effect', align: 'right', value: (e) => e.effect_id },
    { title: 'state', value: (e) => e.state, style: (e) => stateStyle(e.state) },
    { title: 'decision', min: 12, value: (e) => e.run_key },
    { title: 'name', min: 8, value: (e) => e.name },
    { title: 'age', align: 'right', value: (e) => age(e.age_ms) },
    { title: 'tries', align: 'right', value: (e) => e.attempts },
    { title: 'next', min: 10, value: nextText },
  ];
  const rest = more
    ? [styled(`There are more: raise --limit, or look at one: ${suggest('comanda effects show ID')}`, 'dim')]
    : [];
  return [...table(cells, rows, columns), ...rest];
}

/** What a state waits for, in a few words. */
function nextText(e: EffectListRow): string {
  const when = e.next_in_ms === null ? '' : ` ${ahead(e.next_in_ms)}`;
  switch (e.state) {
    case 'waiting':
      return `${e.waits_for ?? ''}${e.waits_for === 'held' ? '' : `, due${when}`}`;
    case 'pending':
      return e.blocked_by ?? (e.next_in_ms === null ? 'arrived' : `due${when}`);
    case 'sending':
      return e.next_in_ms === null ? 'leased' : `lease ends${when}`;
    case 'unknown':
      return e.blocked_by === null ? `look-up${when}` : 'a person';
    case 'completed':
      return e.provider_id ?? '';
    default:
      return '';
  }
}

/** Effects with everything that was written about them. */
export function effectFileLines(
  file: EffectFile,
  withPayload: boolean,
  columns: number | undefined,
): readonly string[] {
  return file.effects.flatMap((effect, i) => [
    ...(i === 0 ? [] : ['']),
    ...oneEffect(effect, file, withPayload, columns),
  ]);
}

function oneEffect(
  e: EffectRow,
  file: EffectFile,
  withPayload: boolean,
  columns: number | undefined,
): readonly string[] {
  const own = <Row extends { readonly effect_id: string }>(rows: readonly Row[]): readonly Row[] =>
    rows.filter((row) => row.effect_id === e.effect_id);
  const tries = e.max_attempts === null ? String(e.attempts) : `${e.attempts} of ${e.max_attempts}`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['decision', e.run_key],
    [
      'kind',
      `${e.kind} (version ${e.kind_version}${e.idempotency === null ? '' : `, idempotency ${e.idempotency}`}${e.risk === null ? '' : `, ${e.risk}`})`,
    ],
    ['target', e.target],
    [
      'subject',
      e.subject === '' ? null : `${e.subject}${e.subject_version === null ? '' : `, version ${e.subject_version}`}`,
    ],
    ['key', e.idempotency_key],
    ['order', e.ordering_key],
    ['created', `${momentOrNothing(e.created_at)}, ${age(e.age_ms)} ago`],
    ['tries', tries],
    [
      'next',
      e.next_at === null || e.next_in_ms === null ? null : `${momentOrNothing(e.next_at)}, ${ahead(e.next_in_ms)}`,
    ],
    ['blocked by', e.blocked_by],
    ['parked', e.parked_ms === null ? null : `${age(e.parked_ms)} ago`],
    ['relay', e.state === 'sending' ? e.relay : null],
    [
      'ended',
      e.ended_at === null
        ? null
        : `${momentOrNothing(e.ended_at)} by ${e.ended_by ?? '?'}${e.ended_reason === null ? '' : `: ${e.ended_reason}`}`,
    ],
    ['provider id', e.provider_id],
    ['payload', withPayload ? e.payload : `${e.payload_bytes} bytes (--payload shows it)`],
    ['headers', withPayload ? e.headers : null],
  ];
  return [
    `${heading(`effect ${e.effect_id}  ${e.name}`)}  ${styled(visible(e.state), ...stateStyle(e.state))}`,
    ...facts.flatMap(([name, value]) =>
      value === null ? [] : paragraph(value, columns, ' '.repeat(12), styled(name.padEnd(12), 'dim')),
    ),
    ...section(attemptTable(own(file.attempts), columns)),
    // One ending is told above.
    ...section(own(file.outcomes).length > 1 ? outcomeTable(own(file.outcomes), columns) : []),
    ...section(requestTable(own(file.requests), columns)),
  ];
}

function section(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', ...lines];
}

function attemptTable(rows: readonly AttemptRow[], columns: number | undefined): readonly string[] {
  if (rows.length === 0) return [];
  const time = timeColumn(rows.map(({ at }) => at));
  const cells: readonly Column<AttemptRow>[] = [
    { title: time.title, value: (a) => time.of(a.at) },
    { title: 'try', align: 'right', value: (a) => a.attempt },
    { title: 'what', value: (a) => a.phase },
    { title: 'outcome', value: (a) => a.outcome, style: (a) => stateStyle(a.outcome ?? '') },
    { title: 'took', align: 'right', value: (a) => (a.duration_ms === null ? '' : duration(a.duration_ms)) },
    { title: 'status', align: 'right', value: (a) => a.status },
    { title: 'by', min: 6, value: (a) => shortRelay(a.owner ?? '') },
    { title: 'provider id', min: 8, value: (a) => a.provider_id },
  ];
  const [titles = '', ...lines] = table(cells, rows, columns);
  // What was said is too long for a column, and too important to be cut.
  return [titles, ...rows.flatMap((row, i) => [lines[i] ?? '', ...saidLines(row, columns)])];
}

function saidLines(row: AttemptRow, columns: number | undefined): readonly string[] {
  const text = said(row);
  return text === '' ? [] : paragraph(text, columns, '    ').map((line) => styled(line, 'dim'));
}

function said(a: AttemptRow): string {
  const error = [a.error_class === `http_${a.status}` ? null : a.error_class, a.error_text];
  return error.filter((text) => text !== null && text !== '').join(': ');
}

/** A column of moments: the day is said once, in the title, when it is the same for all. */
function timeColumn(moments: readonly string[]): { readonly title: string; of(at: string): string } {
  const days = new Set(moments.map((at) => at.slice(0, 10)));
  const [day] = days;
  return days.size === 1 && day !== undefined
    ? { title: `${day} UTC`, of: (at) => at.slice(11, 23) }
    : { title: 'at (UTC)', of: (at) => at.slice(0, 19).replace('T', ' ') };
}

function outcomeTable(rows: readonly OutcomeRow[], columns: number | undefined): readonly string[] {
  if (rows.length === 0) return [];
  const time = timeColumn(rows.map(({ settled_at }) => settled_at));
  const cells: readonly Column<OutcomeRow>[] = [
    { title: time.title, value: (o) => time.of(o.settled_at) },
    { title: 'ended as', value: (o) => o.state, style: (o) => stateStyle(o.state) },
    { title: 'by', min: 6, value: (o) => shortRelay(o.settled_by) },
    { title: 'provider id', min: 8, value: (o) => o.provider_id },
    { title: 'reason', min: 12, value: (o) => `${o.reason ?? ''}${o.maybe_applied ? ' (may have been applied)' : ''}` },
  ];
  return table(cells, rows, columns);
}

function requestTable(rows: readonly RequestRow[], columns: number | undefined): readonly string[] {
  if (rows.length === 0) return [];
  const time = timeColumn(rows.map(({ requested_at }) => requested_at));
  const cells: readonly Column<RequestRow>[] = [
    { title: time.title, value: (r) => time.of(r.requested_at) },
    { title: 'asked for', value: (r) => (r.resolve_as === null ? r.action : `${r.action} as ${r.resolve_as}`) },
    { title: 'by', min: 6, value: (r) => r.requested_by },
    { title: 'reason', min: 12, value: (r) => r.reason },
    { title: 'answer', min: 10, value: (r) => r.answer ?? 'not yet' },
  ];
  return table(cells, rows, columns);
}
