import {
  age,
  ahead,
  count,
  type RelayRow,
  type StatusRow,
  type SwitchRow,
  shortRelay,
  type UnattendedRow,
} from 'comanda/internal';
import { ageOrNothing, grouped, heading, paragraph, stateStyle } from './format.js';
import { type Column, table } from './table.js';
import { styled, visible } from './visible.js';

/** One look at an installation. */
export interface StatusLook {
  readonly status: StatusRow;
  readonly relays: readonly RelayRow[];
  readonly switches: readonly SwitchRow[];
  /** `null`: not counted within the statement timeout. */
  readonly attention: number | null;
  /** The first of them; `null` as above. */
  readonly unattended: readonly UnattendedRow[] | null;
}

interface Place {
  readonly schema: string;
  readonly choice: { readonly shown: string };
  suggest(command: string): string;
}

/** The status page. */
export function statusLines(look: StatusLook, place: Place, columns: number | undefined): readonly string[] {
  const { status } = look;
  return [
    heading(place.choice.shown),
    ...paragraph(
      `schema ${place.schema}, version ${status.schema_version}; environment ${status.environment}; PostgreSQL ${status.server_version.split(' ')[0]}`,
      columns,
    ).map((line) => styled(line, 'dim')),
    '',
    ...effectLines(status, columns),
    '',
    ...summaryLines(look, place),
    ...relayLines(look.relays, columns),
    ...switchLines(look.switches, columns),
    ...unattendedLines(look.unattended ?? [], columns),
  ];
}

interface StateLine {
  readonly state: string;
  readonly n: number | null;
  readonly oldest: number | null;
  readonly remark: string;
}

function effectLines(s: StatusRow, columns: number | undefined): readonly string[] {
  const kinds = [
    [s.delayed, 'delayed'],
    [s.in_window, 'in their cancel window'],
    [s.held, 'held'],
  ] as const;
  const waiting = kinds.flatMap(([n, word]) => (n === 0 ? [] : [`${grouped(n)} ${word}`]));
  if (s.waiting_next_in_ms !== null) waiting.push(`next ${ahead(s.waiting_next_in_ms)}`);
  const lines: readonly StateLine[] = [
    { state: 'waiting', n: s.waiting, oldest: null, remark: waiting.join(', ') },
    { state: 'pending', n: s.pending, oldest: s.pending_oldest_ms, remark: '' },
    { state: 'sending', n: s.sending, oldest: s.sending_oldest_ms, remark: '' },
    { state: 'unknown', n: s.unknown, oldest: s.unknown_oldest_ms, remark: s.unknown === 0 ? '' : 'may have happened' },
    { state: 'failed', n: s.failed, oldest: s.failed_oldest_ms, remark: s.failed === 0 ? '' : 'dead letters' },
    {
      state: 'completed',
      n: s.completed,
      oldest: null,
      remark: `${grouped(s.completed_last_hour)} in the last hour`,
    },
    { state: 'cancelled', n: s.cancelled, oldest: null, remark: '' },
  ];
  const cells: readonly Column<StateLine>[] = [
    { title: 'effects', value: (l) => l.state, style: (l) => (l.n === 0 ? ['dim'] : stateStyle(l.state)) },
    { title: 'count', align: 'right', value: (l) => (l.n === null ? 'many' : grouped(l.n)) },
    { title: 'oldest', align: 'right', value: (l) => (l.n === 0 ? '' : ageOrNothing(l.oldest)) },
    { title: '', min: 10, value: (l) => l.remark, style: () => ['dim'] },
  ];
  return table(cells, lines, columns);
}

function summaryLines(look: StatusLook, place: Place): readonly string[] {
  const { status: s, relays, switches, attention, unattended } = look;
  const live = relays.filter((relay) => relay.live).length;
  const silent = relays.length - live;
  const off = switches.filter(({ mode }) => mode !== 'run');
  const lanes = [
    `${grouped(s.lanes_leased)} leased`,
    `${grouped(s.lanes_due)} due`,
    `${grouped(s.lanes_backing_off)} backing off`,
    `${grouped(s.lanes_parked)} parked`,
    ...(s.lanes_expired === 0 ? [] : [`${grouped(s.lanes_expired)} with an expired lease`]),
  ];
  const relayText = `${live} live${silent === 0 ? '' : `, ${silent} silent`}`;
  const row = (name: string, text: string): string => `${name.padEnd(11)} ${text}`;
  return [
    ...(s.not_adopted === null
      ? []
      : [row('NOT ADOPTED', styled(visible(`${s.not_adopted}. ${place.suggest('comanda adopt')}`), 'red'))]),
    row('lanes', lanes.join(', ')),
    row('relays', live === 0 ? styled(`${relayText}: nothing is executed`, 'yellow') : relayText),
    row('switch', off.length === 0 ? 'run' : styled(`${count(off.length, 'scope')} off`, 'yellow')),
    row('attention', attentionText(attention, place)),
    row('unattended', unattendedText(unattended)),
  ];
}

const NOT_COUNTED = styled('not counted in time (--statement-timeout 60s gives it more)', 'yellow');

function attentionText(attention: number | null, place: Place): string {
  if (attention === null) return NOT_COUNTED;
  if (attention === 0) return '0';
  return `${styled(grouped(attention), 'yellow')}  ${styled(visible(place.suggest('comanda attention')), 'dim')}`;
}

function unattendedText(unattended: readonly UnattendedRow[] | null): string {
  if (unattended === null) return NOT_COUNTED;
  return unattended.length === 0 ? '0' : styled(`${unattended.length}: a defect, please report it`, 'red');
}

function relayLines(relays: readonly RelayRow[], columns: number | undefined): readonly string[] {
  if (relays.length === 0) return [];
  const cells: readonly Column<RelayRow>[] = [
    { title: 'relay', min: 8, value: (r) => shortRelay(r.id) },
    {
      title: 'heard',
      align: 'right',
      value: (r) => `${age(r.silent_ms)} ago`,
      style: (r) => (r.live ? [] : ['yellow']),
    },
    { title: 'obeys switch', align: 'right', value: (r) => r.switch_version },
    { title: 'version', min: 5, value: (r) => r.software_version },
    { title: 'kinds', min: 12, value: (r) => r.kinds.join(', ') },
  ];
  return ['', ...table(cells, relays, columns)];
}

function switchLines(switches: readonly SwitchRow[], columns: number | undefined): readonly string[] {
  const off = switches.filter(({ mode }) => mode !== 'run');
  return off.length === 0 ? [] : ['', ...switchTable(off, columns)];
}

/** Scopes of the switch. */
export function switchTable(switches: readonly SwitchRow[], columns: number | undefined): readonly string[] {
  const cells: readonly Column<SwitchRow>[] = [
    { title: 'switch', min: 10, value: (s) => s.scope },
    { title: 'mode', value: (s) => s.mode, style: (s) => (s.mode === 'run' ? ['green'] : ['yellow']) },
    { title: 'version', align: 'right', value: (s) => s.version },
    { title: 'since', align: 'right', value: (s) => age(s.set_ms_ago) },
    { title: 'set by', min: 6, value: (s) => s.set_by },
    { title: 'owner', min: 6, value: (s) => [s.owner_name, s.backup_name].filter((name) => name !== null).join(' / ') },
    { title: 'reason', min: 10, value: (s) => s.reason },
  ];
  return table(cells, switches, columns);
}

function unattendedLines(rows: readonly UnattendedRow[], columns: number | undefined): readonly string[] {
  if (rows.length === 0) return [];
  const cells: readonly Column<UnattendedRow>[] = [
    { title: 'unattended', min: 12, value: (u) => u.what, style: () => ['red'] },
    { title: 'effect', align: 'right', value: (u) => u.effect_id },
    { title: 'thing', min: 10, value: (u) => u.thing },
  ];
  return ['', ...table(cells, rows, columns)];
}
