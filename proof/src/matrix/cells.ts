/** One combination that the product is tested on. */
export interface Cell {
  readonly postgres: (typeof POSTGRES)[number];
  /** `pooled`: the pools of relays and callers go through PgBouncer in transaction mode. */
  readonly door: (typeof DOORS)[number];
  readonly node: (typeof NODES)[number];
}

export const POSTGRES = ['15', '16', '17', '18'] as const;
const DOORS = ['direct', 'pooled'] as const;
/** The oldest that is supported, and the newest line with long-term support. */
export const NODES = ['20', '26'] as const;

const DATABASE = ['--project', 'database'];
/** What speaks SQL, without what is about processes, providers and documents. */
const SQL = [
  'packages/comanda/test/sql',
  'packages/comanda/test/conformance',
  'packages/comanda/test/integration/schema',
];
/** And how relays behave on it. Faults, sequences and what the documents say run where `npm test` runs. */
const ENGINE = [...SQL, ...['cases', 'relay', 'installation'].map((name) => `packages/comanda/test/${name}`)];
/** Tests whose relays and callers use pools: all others open connections of their own, which no pooler sees. */
const POOLED = [
  ...[
    'lease',
    'uncertain',
    'word-of-a-person',
    'hostile-reading',
    'control',
    'robustness',
    'lifetime',
    'targets',
    'timing',
  ].map((name) => `packages/comanda/test/relay/${name}.test.ts`),
];

/** Arguments of vitest for a cell. */
export function testsOf({ postgres, door, node }: Cell, quick: boolean): readonly string[] {
  if (door === 'pooled') return [...DATABASE, ...(quick ? POOLED.slice(0, 7) : POOLED)];
  // The library's unit tests have nothing to do with a server: once per Node is enough.
  const units = node !== NODES[0] && postgres === '18' ? ['--project', 'unit', 'packages/comanda/src'] : [];
  if (!quick) return [...DATABASE, ...units, 'packages/comanda/test'];
  return [...DATABASE, ...units, ...(postgres === '15' && node === NODES[0] ? ENGINE : SQL)];
}

export const ALL: readonly Cell[] = NODES.flatMap((node) =>
  DOORS.flatMap((door) => POSTGRES.map((postgres) => ({ postgres, door, node }))),
);

/** For each change: the engine on the oldest server, and a pooler. The newest server on the oldest Node is what `npm test` runs. */
export const QUICK: readonly Cell[] = ['15:direct:20', '18:pooled:20'].map(parseCell);

/** Reads `18:pooled:20`. @throws TypeError with what can be said instead */
export function parseCell(text: string): Cell {
  const [postgres, door, node, ...rest] = text.split(':');
  const found = ALL.find((cell) => cell.postgres === postgres && cell.door === door && cell.node === node);
  if (found !== undefined && rest.length === 0) return found;
  throw new TypeError(
    `"${text}" is no cell; a cell is PostgreSQL:door:Node, of ${POSTGRES.join(' ')}, ${DOORS.join(' ')} and ${NODES.join(' ')}`,
  );
}

export function nameOf({ postgres, door, node }: Cell): string {
  return `${postgres}:${door}:${node}`;
}
