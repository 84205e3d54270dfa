import { cp, rm } from 'node:fs/promises';
import { temporaryFolder } from '@comanda/test-support';
import type { Configuration } from './configuration.js';
import { run, Truncated } from './processes.js';
import { brokenProperty, readTrace } from './trace.js';

/** What one run of the model checker found. */
export interface Found {
  readonly configuration: Configuration;
  /** Whether it is what was expected. */
  readonly ok: boolean;
  /** One or two words: `holds`, `caught by S4`, or what is wrong. */
  readonly verdict: string;
  readonly states: number;
  readonly seconds: number;
  /** What happened, step by step; empty when no execution broke a property. */
  readonly trace: readonly string[];
}

/** The search gives up beyond these, and a search that gave up proves nothing. */
const DEPTH = 30_000;
const MEMORY_MB = 4_000;
const SEARCH_SECONDS = 1_800;
const TOOL_SECONDS = 300;

/** Runs one configuration in a temporary folder of its own: spin makes the checker, gcc compiles it, the checker searches. */
export async function check(model: string, configuration: Configuration): Promise<Found> {
  const folder = temporaryFolder('model');
  const began = performance.now();
  try {
    await cp(model, folder, { recursive: true });
    const { flags, search, quick } = configuration;
    await run('spin', ['-a', ...flags, 'relay.pml'], folder, TOOL_SECONDS);
    const settings = search === 'cycles' ? ['-DNP'] : ['-DSAFETY'];
    // Compiling with optimisation takes longer than the whole search of a small configuration.
    const speed = quick || configuration.expect !== 'holds' ? '-O0' : '-O2';
    const limits = ['-DCOLLAPSE', '-DVECTORSZ=2048', `-DMEMLIM=${MEMORY_MB}`];
    await run('gcc', [speed, ...settings, ...limits, '-w', '-o', 'pan', 'pan.c'], folder, TOOL_SECONDS);
    const looking = search === 'cycles' ? ['-l'] : [];
    const output = await run('./pan', [...looking, `-m${DEPTH}`], folder, SEARCH_SECONDS);
    const states = Number(/^\s*([\d.e+]+) states, stored/m.exec(output)?.[1] ?? 0);
    const errors = Number(/errors: (\d+)/.exec(output)?.[1] ?? Number.NaN);
    const cut = /max search depth too small|out of memory|pan: reached -DMEMLIM|VECTORSZ/.exec(output)?.[0];
    const told = errors > 0 ? await run('spin', ['-t', '-T', ...flags, 'relay.pml'], folder, TOOL_SECONDS) : '';
    const property = errors > 0 ? await brokenProperty(told, output, folder) : undefined;
    const { ok, verdict } = judge(configuration, errors, property, cut);
    return { configuration, ok, verdict, states, seconds: seconds(began), trace: readTrace(told) };
  } catch (error) {
    const verdict = error instanceof Error ? error.message : String(error);
    if (!(error instanceof Truncated)) throw error;
    return { configuration, ok: false, verdict, states: 0, seconds: seconds(began), trace: [] };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function judge(
  { expect, broken }: Configuration,
  errors: number,
  property: string | undefined,
  cut: string | undefined,
): { readonly ok: boolean; readonly verdict: string } {
  if (Number.isNaN(errors)) return { ok: false, verdict: 'the checker gave no result' };
  if (expect === 'holds') {
    if (errors > 0) return { ok: false, verdict: `BROKEN: ${property}` };
    return cut === undefined ? { ok: true, verdict: 'holds' } : { ok: false, verdict: `TRUNCATED: ${cut}` };
  }
  if (errors === 0) return { ok: false, verdict: 'NOT CAUGHT' };
  const named = broken.some((name) => property?.split(' ').includes(name));
  return named
    ? { ok: true, verdict: `${expect === 'caught' ? 'caught by' : 'breaks'} ${property}` }
    : { ok: false, verdict: `BROKEN ELSEWHERE: ${property}, not ${broken.join(' or ')}` };
}

function seconds(began: number): number {
  return Math.round((performance.now() - began) / 100) / 10;
}
