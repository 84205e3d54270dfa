// Counts the books of a demo again: node examples/cumbre/recount.mjs DIR. Nothing but Node is needed, and nothing but the files in DIR is read:
// <target>.book.jsonl is what each provider wrote before it answered, decisions.jsonl what the database had decided, acknowledged.jsonl the orders that
// the web shop was told to be done, orders.jsonl the shop's own table.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const dir = process.argv[2];
if (dir === undefined) throw new Error('usage: node examples/cumbre/recount.mjs DIR');
const read = (file) => readFileSync(join(dir, file), 'utf8').split('\n').filter(Boolean);
const lines = (file) => read(file).map((line) => JSON.parse(line));
const decided = new Map(lines('decisions.jsonl').map((effect) => [`${effect.target} ${effect.key}`, effect]));
const ordersWithDecision = new Set(
  lines('orders.jsonl').flatMap(({ order, decision }) => (decision === null ? [] : [order])),
);

const accepted = new Map(); // `<target> <key>` → how often
const count = { effects: decided.size, calls: 0, acceptances: 0, replays: 0, lost: 0, duplicated: 0 };
Object.assign(count, { ghosts: 0, altered: 0, unfinished: 0, unknown: 0, reconciled: 0 });
for (const file of readdirSync(dir).filter((name) => name.endsWith('.book.jsonl'))) {
  for (const { event, key, body } of lines(file)) {
    if (event === 'received') count.calls += 1;
    if (event === 'replayed') count.replays += 1; // a known key: answered as before, nothing done
    if (event !== 'accepted') continue;
    const id = `${file.replace('.book.jsonl', '')} ${key ?? JSON.parse(body).reference}`;
    count.acceptances += 1;
    accepted.set(id, (accepted.get(id) ?? 0) + 1);
    if (accepted.get(id) > 1) count.duplicated += 1;
    if (!decided.has(id))
      count.ghosts += 1; // nobody decided it
    else if (decided.get(id).payload !== body) count.altered += 1;
  }
}
for (const [id, { state, unknown }] of decided) {
  const hasEnded = ['completed', 'failed', 'cancelled'].includes(state);
  if (state === 'completed' && !accepted.has(id)) count.lost += 1;
  if (state !== 'completed') count.unfinished += 1;
  if (unknown) count.unknown += 1;
  if (unknown && hasEnded) count.reconciled += 1;
}
count.lost += lines('acknowledged.jsonl').filter((order) => !ordersWithDecision.has(order)).length;
console.log(count);
const balances =
  count.lost + count.duplicated + count.ghosts + count.altered + count.unfinished === 0 &&
  count.unknown === count.reconciled;
console.log(balances ? 'It balances.' : 'It does NOT balance.');
process.exitCode = balances ? 0 : 1;
