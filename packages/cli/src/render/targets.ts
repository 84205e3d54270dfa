import { count, duration, shortRelay, type TargetRow } from 'comanda/internal';
import type { TargetAnswer } from '../doors.js';
import { paragraph } from './format.js';
import { type Column, table } from './table.js';
import { styled, visible } from './visible.js';

/** Destinations as they are: one line each, then why, and who uses how much of a limit. */
export function targetLines(targets: readonly TargetRow[], columns: number | undefined): readonly string[] {
  if (targets.length === 0) return ['No target has a breaker, a pause or a limit at this moment: everything flows.'];
  const cells: readonly Column<TargetRow>[] = [
    { title: 'target', min: 10, value: (t) => t.target },
    {
      title: 'breaker',
      value: (t) => t.breaker.replace('_', ' '),
      style: (t) => [t.breaker === 'closed' ? 'green' : 'red'],
    },
    { title: 'next probe in', align: 'right', value: (t) => ms(t.probe_in_ms) },
    { title: 'paused for', align: 'right', value: (t) => ms(t.paused_ms) },
    { title: 'a second', align: 'right', value: (t) => t.rate_per_second },
    { title: 'at once', align: 'right', value: (t) => t.concurrency },
    { title: 'limits set by', min: 8, value: (t) => t.set_by },
    { title: 'shares', align: 'right', value: (t) => (t.shares.length === 0 ? null : t.shares.length) },
  ];
  const [titles = '', ...lines] = table(cells, targets, columns);
  return [
    titles,
    ...targets.flatMap((target, i) => [
      lines[i] ?? '',
      ...details(target).flatMap((text) => paragraph(text, columns, '    ').map((line) => styled(line, 'dim'))),
    ]),
  ];
}

/** What became of a change. */
export function targetSetLines(answer: TargetAnswer, suggest: (command: string) => string): readonly string[] {
  const { target, breaker, paused_ms, rate_per_second, concurrency, set_by } = answer;
  const paused =
    paused_ms === null || Number(paused_ms) === 0 ? 'not paused' : `paused for ${duration(Number(paused_ms))}`;
  const limits = [
    rate_per_second === null ? 'no rate limit' : `${rate_per_second} a second`,
    concurrency === null ? 'no limit at once' : `${concurrency} at once`,
  ].join(', ');
  const whose =
    set_by === null ? 'limits are those of the relays’ configuration' : `limits set by ${set_by}: ${limits}`;
  return [
    visible(`${target}: breaker ${breaker.replace('_', ' ')}, ${paused}, ${whose}.`),
    styled(`Relays obey within seconds; see: ${suggest('comanda targets')}`, 'dim'),
  ];
}

function details(target: TargetRow): readonly string[] {
  const { breaker_reason, open_ms, probe_by, pause_reason, shares } = target;
  return [
    ...(breaker_reason === null ? [] : [`not closed for ${duration(open_ms ?? 0)}: ${breaker_reason}`]),
    ...(probe_by === null ? [] : [`${shortRelay(probe_by)} sends the probe`]),
    ...(pause_reason === null ? [] : [`paused: ${pause_reason}`]),
    ...(shares.length === 0 ? [] : [`${count(shares.length, 'share')}: ${shares.map(share).join('; ')}`]),
  ];
}

function share({ relay, slots, rate }: TargetRow['shares'][number]): string {
  const parts = [
    ...(rate === null ? [] : [`${Math.round(rate * 100) / 100} a second`]),
    ...(slots === null ? [] : [`${slots} at once`]),
  ];
  return `${shortRelay(relay)} ${parts.join(', ')}`;
}

function ms(value: number | null): string | null {
  return value === null ? null : duration(value);
}
