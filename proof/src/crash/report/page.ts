import { readFileSync, writeFileSync } from 'node:fs';
import type { Killed } from '../kill.js';
import type { NaiveEnd } from '../naive/orders.js';
import { jobsOf, type Recorded } from '../plan.js';
import { asMarkdown, pathTable, storyTable } from './table.js';

const PAGE = new URL('../../../../docs/reference/crash-table.md', import.meta.url);

/** Puts the tables between their marks on the page. */
export function writePage(recorded: readonly Recorded[], killed: readonly Killed[], naive: readonly NaiveEnd[]): void {
  const all = jobsOf(recorded).length;
  const parts: Readonly<Record<string, string>> = {
    extent: `${killed.length} of ${all} kills (boundaries times three), with ${[...new Set(recorded.map(({ relays }) => relays))].join(' and ')} relay(s); ${killed.filter(({ verdict }) => verdict === undefined).length} of them found that their boundary did not come again.`,
    paths: asMarkdown(pathTable(recorded, killed, naive)),
    decide: asMarkdown(storyTable(recorded, killed, 'decide', 'keyed')),
    'send, keyed': asMarkdown(storyTable(recorded, killed, 'send', 'keyed')),
    'send, looked up': asMarkdown(storyTable(recorded, killed, 'send', 'looked_up')),
  };
  let page = readFileSync(PAGE, 'utf8');
  for (const [name, text] of Object.entries(parts)) {
    const [begin, end] = [`<!-- table: ${name} -->`, '<!-- /table -->'];
    const from = page.indexOf(begin);
    if (from < 0) throw new Error(`${PAGE.pathname} has no mark "${begin}"`);
    page = `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(page.indexOf(end, from))}`;
  }
  writeFileSync(PAGE, page);
}
