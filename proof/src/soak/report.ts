import type { SoakResult } from './result.js';

const MIB = 2 ** 20;

/** The result for people. */
export function report(r: SoakResult, problems: readonly string[]): string {
  const rows: readonly (readonly [what: string, value: string])[] = [
    [
      'run',
      `${r.minutes} min, seed ${r.seed}, ${r.rate} acts/s, PostgreSQL ${r.postgres}${r.pooler ? ' behind PgBouncer' : ''}, Node ${r.node}, ${r.cores} cores`,
    ],
    [
      'decided',
      `${r.decisions} decisions, ${r.effects} effects; ${r.repeats} repeated, ${r.conflicts} conflicts, ${r.rolledBack} rolled back`,
    ],
    ['ended', `${r.completed} completed, ${r.cancelled} cancelled, ${r.buried} given up by a person`],
    [
      'providers',
      `${r.calls} calls, ${r.acceptances} accepted, ${r.replays} recognised, ${r.repeatedPuts} PUTs repeated`,
    ],
    [
      'disturbed',
      Object.entries(r.disturbances)
        .map(([name, n]) => `${n} ${name}`)
        .join(', '),
    ],
    [
      'balance',
      `lost ${r.lost}, duplicated ${r.duplicated}, ghosts ${r.ghosts}, altered ${r.altered}, overtaken ${r.overtaken}, overwritten ${r.overwritten}, early ${r.early}, undead ${r.undead}, torn ${r.torn}, unfinished ${r.unfinished}`,
    ],
    [
      'unknown',
      `${r.unknown}, of these ${r.unresolved} unresolved and ${r.resolvedByPerson} resolved by a person; ${r.redriven} redriven`,
    ],
    ['unattended', `${r.looksUnattended} of ${r.looks} looks (${r.looksFailed} while the server was away)`],
    ['caught up', `${r.quietTimes} times, slowest after ${r.slowestCatchUpMs} ms; drained after ${r.drainMs} ms`],
    [
      'memory',
      `${mib(r.memory.tenthBytes)} at a tenth, ${mib(r.memory.endBytes)} at the end: ${r.memory.ratio}; kept after a collection: ${r.keptBytes.map(mib).join(', ')}`,
    ],
    ['hot tables', r.hotAtEnd.map(({ table, bytes, dead }) => `${table} ${mib(bytes)} (${dead} dead)`).join(', ')],
  ];
  const table = rows.map(([what, value]) => `${what.padEnd(11)} ${value}`).join('\n');
  const verdict =
    problems.length === 0
      ? 'Everything balances.'
      : `NOT IN BALANCE (seed ${r.seed}):\n${problems.map((p) => `  ${p}`).join('\n')}`;
  return `${table}\n\n${verdict}`;
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
