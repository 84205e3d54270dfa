import { age, count, type RelayRow, type SwitchRow } from 'comanda/internal';
import type { Confirmation } from '../confirm-switch.js';
import type { SwitchAnswer } from '../doors.js';
import { grouped, paragraph } from './format.js';
import { switchTable } from './status.js';
import { styled, visible } from './visible.js';

/** The switch as it is. */
export function switchLines(
  switches: readonly SwitchRow[],
  relays: readonly RelayRow[],
  scope: string | undefined,
  columns: number | undefined,
): readonly string[] {
  if (switches.length === 0 && scope !== undefined)
    return [visible(`${scope} was never switched: it runs when "all" runs.`)];
  const newest = switches.reduce((max, { version }) => (BigInt(version) > max ? BigInt(version) : max), 0n);
  const live = relays.filter((relay) => relay.live);
  const obeying = live.filter((relay) => BigInt(relay.switch_version) >= newest).length;
  const remark =
    live.length === 0 ? 'No relay is live.' : `Live relays that obey version ${newest}: ${obeying} of ${live.length}.`;
  const silent = relays.filter((relay) => !relay.live);
  const [titles = '', ...lines] = switchTable(
    switches.map((row) => ({ ...row, reason: null })),
    columns,
  );
  // Reasons are sentences: they are not cut here.
  const described = switches.flatMap(({ reason }, i) => [
    lines[i] ?? '',
    ...(reason === null ? [] : paragraph(reason, columns, '    ').map((line) => styled(line, 'dim'))),
  ]);
  return [
    titles,
    ...described,
    '',
    remark,
    ...silent.flatMap((r) => paragraph(`Relay ${r.id} has been silent for ${age(r.silent_ms)}.`, columns)),
  ];
}

/** What became of a change. */
export function switchSetLines(
  { scope, mode, version }: SwitchAnswer,
  confirmation: Confirmation | undefined,
  sending: number,
  suggest: (command: string) => string,
  columns: number | undefined,
): readonly string[] {
  const flight =
    mode === 'run' || sending === 0
      ? []
      : paragraph(
          `${grouped(sending)} ${sending === 1 ? 'effect is' : 'effects are'} under a lease at this moment. What has left cannot be called back: it ends, or becomes unknown and is looked up.`,
          columns,
        );
  const done = `${visible(scope)} is on ${styled(visible(mode), mode === 'run' ? 'green' : 'yellow')} (version ${version}).`;
  if (confirmation === undefined) {
    return [done, ...flight, styled(`Relays obey within moments; see: ${suggest('comanda switch')}`, 'dim')];
  }
  const { confirmed, obeying, behind, silent } = confirmation;
  const verdict = confirmed
    ? obeying.length === 0
      ? 'No relay is live, so there is nobody to confirm it.'
      : `Confirmed: ${count(obeying.length, 'live relay')} ${obeying.length === 1 ? 'obeys' : 'obey'}.`
    : styled(`Not confirmed by every relay; ${obeying.length} obey.`, 'red');
  return [
    done,
    verdict,
    ...behind.flatMap((r) =>
      paragraph(`relay ${r.id} is live and still obeys version ${r.switch_version}`, columns, '    ', '  '),
    ),
    ...silent.flatMap((r) =>
      paragraph(
        `relay ${r.id} has been silent for ${age(r.silent_ms)}: it is dead, or paused and may still send what it was about to send. When you know that it is dead: --gone ${r.id}`,
        columns,
        '    ',
        '  ',
      ),
    ),
    ...flight,
  ];
}
