import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { type World, world } from './database.js';
import { sequences } from './property.js';

/** Engines that are wrong in one place each: the model must notice. `from` is a part of the function's text. */
const WRONG: Readonly<Record<string, readonly [file: string, from: string, to: string]>> = {
  'settle without a look at the fence': ['25_settle', 'x.lane = s.lane and x.fence = s.fence', 'x.lane = s.lane'],
  'unsure is a retry': ['25_settle', "x.md in ('unsure', 'unknown') or", "x.md in ('unknown') or"],
  'unknown is due at once': [
    '25_settle',
    "when u.md in ('next', 'absent') then now()",
    "when u.md in ('next', 'absent', 'unknown') then now()",
  ],
  'suspects are forgotten at a partial settle': [
    '25_settle',
    'when u.hp <= l.suspect_to then l.suspect_to end',
    'when false then l.suspect_to end',
  ],
  'what was cleared stays so after the next uncertain attempt': [
    '25_settle',
    'when u.uncertain or u.silent then null when u.hp = l.cleared_to',
    'when u.hp = l.cleared_to',
  ],
  'unknown waits for a person who is not told': [
    '25_settle',
    "when u.md = 'block' then 'infinity'::timestamptz",
    "when u.md in ('block') then 'infinity'::timestamptz when u.md = 'unknown' then now() + interval '100 years'",
  ],
  'no look at the switch before it is sent': [
    '24_may_send',
    'stopped text[] := comanda.stopped(true, request);',
    "stopped text[] := '{}';",
  ],
  'a lease that is over may send': ['24_may_send', "when l.ready_at <= clock_timestamp() + i.need then 'short'", ''],
  'a forgotten key is trusted': [
    '24_may_send',
    'coalesce(l.first_at + i.trusted <= clock_timestamp(), false) as forgotten',
    'false as forgotten',
  ],
  'no start row': ['24_may_send', "(s.answer = 'go' and s.mark or s.answer = 'go:none')", 'false'],
  'cancel is honoured on suspects': [
    '24_may_send',
    'when not a.suspect and exists (select from comanda.effect_request',
    'when exists (select from comanda.effect_request',
  ],
  'the sweep cancels what is suspect': [
    '31_sweep_requests',
    'or (head.pos <= l.suspect_to and head.pos is distinct from l.cleared_to) or l.trouble is not null then\n      return null',
    'or l.trouble is not null then\n      return null',
  ],
  'an expired lease is clean': [
    '22_claim',
    'suspect_to = case when x.owner is not null then greatest(x.inflight_to, x.suspect_to) else x.suspect_to end',
    'suspect_to = x.suspect_to',
  ],
  'a leased lane is due': ['22_claim', 'set ready_at = now() + lease, fence = f', 'set ready_at = now(), fence = f'],
  'the fence of a claim is the old one': [
    '22_claim',
    "f := nextval('comanda.fence'::regclass);",
    "f := pg_sequence_last_value('comanda.fence'::regclass);",
  ],
  'renew after the lease': ['27_renew', 'and s.ready_at > clock_timestamp()', ''],
};

const LONG = process.env['COMANDA_LONG'] === '1';
/** In the short form, those that are found within a few runs. */
const QUICK = ['unsure is a retry', 'suspects are forgotten at a partial settle', 'a forgotten key is trusted'];
const chosen = Object.entries(WRONG).filter(
  ([name]) => LONG || process.env['COMANDA_FIGURES'] === '1' || QUICK.includes(name),
);

const textOf = (file: string): string =>
  readFileSync(new URL(`../../sql/functions/${file}.sql`, import.meta.url), 'utf8');

let w: World;
beforeAll(async () => {
  w = await world();
});

test.each(chosen)('%s: noticed', { timeout: 600_000 }, async (name, [file, from, to]) => {
  const right = textOf(file);
  expect(right.includes(from), `${file}.sql has the text that is to be made wrong`).toBe(true);
  await w.s.client.query(right.replace(from, () => to));
  const started = performance.now();
  try {
    const found = await sequences(w, 2, {
      seed: 42,
      numRuns: 400,
      endOnFailure: true,
      interruptAfterTimeLimit: 240_000,
    });
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    if (process.env['COMANDA_FIGURES'] === '1')
      console.log(
        `${name}: ${found.failed ? 'caught' : 'MISSED'} in run ${found.numRuns}, ${found.commands} commands, ${seconds} s: ${String(found.errorInstance)}`,
      );
    expect(found.failed, 'the sequences found it').toBe(true);
  } finally {
    await w.s.client.query(right);
  }
});
