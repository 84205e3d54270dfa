import type { Mutation } from './mutation.js';

const SQL = 'packages/comanda/sql/functions';
const TESTS = 'packages/comanda/test/sql';
const SETTLE = `${SQL}/25_settle.sql`;
const CLAIM = `${SQL}/22_claim.sql`;
const ROUTE = `${SQL}/21_route.sql`;
const MAY_SEND = `${SQL}/24_may_send.sql`;

/** Rules that the database keeps. */
export const OF_SQL: readonly Mutation[] = [
  {
    name: 'settle-without-fence',
    about: 'settle does not compare the fence',
    edits: [
      {
        file: SETTLE,
        old: 'x (lane, fence, j) on x.lane = s.lane and x.fence = s.fence\n    where s.owner is not null;',
        new: 'x (lane, fence, j) on x.lane = s.lane\n    where s.owner is not null;',
      },
    ],
    tests: [
      { file: `${TESTS}/settle.test.ts`, title: 'L02: under an older fence nothing changes, and the answer says so' },
    ],
  },
  {
    name: 'fence-by-attempt',
    about: 'the fence is the number of the attempt',
    edits: [
      {
        file: CLAIM,
        old: 'ready_at = now() + lease, fence = f,',
        new: `ready_at = now() + lease, fence = x.attempt + (x.trouble is distinct from 'unknown')::int,`,
      },
      { file: CLAIM, old: 'select h.lane, f, h.pos,', new: 'select h.lane, h.attempt::bigint, h.pos,' },
      { file: ROUTE, old: `end, f, g.leased::int, case`, new: `end, g.leased::int, g.leased::int, case` },
      { file: ROUTE, old: 'select h.l, f, h.i,', new: 'select h.l, 1::bigint, h.i,' },
    ],
    tests: [{ file: `${TESTS}/settle.test.ts`, title: 'an attempt that was given back does not bring its fence back' }],
  },
  {
    name: 'two-routers',
    about: 'route does not ask whether another one is at work',
    edits: [
      {
        file: ROUTE,
        old: `  if not pg_try_advisory_xact_lock('comanda.effect_arrival'::regclass::oid::int, 1) then\n    return;\n  end if;\n`,
        new: '',
      },
    ],
    tests: [
      {
        file: `${TESTS}/route.test.ts`,
        title: 'one router at a time, and rows that the first has moved are not moved again',
      },
    ],
  },
  {
    name: 'lane-deleted-unseen',
    about: 'settle decides from an older snapshot whether anything is left in a lane',
    edits: [
      {
        file: SETTLE,
        old: '  none text[]; illegal boolean;\nbegin\n',
        new: '  none text[]; illegal boolean; emptied text[];\nbegin\n',
      },
      {
        file: SETTLE,
        old: '  select array_agg(s.lane), array_agg(s.fence), array_agg(x.j),\n',
        new: `  select array_agg(x.l) into emptied from unnest(al, aj) x (l, j)
    where (select count(*) from comanda.effect_queue r where r.lane = x.l) <= coalesce(jsonb_array_length(x.j -> 'ended'), 0);
  select array_agg(s.lane), array_agg(s.fence), array_agg(x.j),
`,
      },
      {
        file: SETTLE,
        old: '    if none is not null then\n',
        new: '    select array_agg(l) into none from unnest(ol) l where l = any (emptied);\n    if none is not null then\n',
      },
    ],
    tests: [
      {
        file: `${TESTS}/settle.test.ts`,
        title: 'what arrived while settle waited for its lane is seen: the lane stays',
      },
    ],
  },
  {
    name: 'switch-not-re-read',
    about: 'may_send does not read the switch',
    edits: [
      { file: MAY_SEND, old: 'stopped text[] := comanda.stopped(true, request);', new: `stopped text[] := '{}';` },
    ],
    tests: [
      {
        file: 'packages/comanda/test/relay/control.test.ts',
        title: 'P8: the switch is re-read between claim and send',
      },
    ],
  },
  {
    name: 'suspects-forgotten',
    about: 'a settle that ends the head forgets the other suspects of the lane',
    edits: [
      {
        file: SETTLE,
        old: 'when u.hp <= l.suspect_to then l.suspect_to end,\n          cleared_to',
        new: 'when u.hp <= l.suspect_to and not u.fresh then l.suspect_to end,\n          cleared_to',
      },
    ],
    tests: [
      {
        file: `${TESTS}/claim.test.ts`,
        title:
          'L06: an expired lease is a due lane; its rows come back as suspects, one at a time, under a higher fence',
      },
    ],
  },
  {
    name: 'late-evidence-not-re-checked',
    about: 'the write of absent does not look for late evidence',
    edits: [
      {
        file: SETTLE,
        old: `where o.j ->> 'mode' = 'absent' or o.j ->> 'mode' = 'block' and o.j -> 'head' ->> 'outcome' = 'absent') x (e)`,
        new: 'where false) x (e)',
      },
    ],
    tests: [
      {
        file: `${TESTS}/settle-modes.test.ts`,
        title: 'relay-model R5: late evidence beats absent, in the same statement',
      },
    ],
  },
  {
    name: 'cancel-after-possible-send',
    about: 'a suspect is cancelled on request',
    edits: [
      {
        file: MAY_SEND,
        old: `when not a.suspect and exists (select from comanda.effect_request q`,
        new: `when exists (select from comanda.effect_request q`,
      },
    ],
    tests: [{ file: `${TESTS}/may-send.test.ts`, title: 'relay-model R1: is not honoured for a suspect' }],
  },
  {
    name: 'word-about-another-try',
    about: "a person's word about one unknown outcome is applied to the next",
    edits: [
      {
        file: `${SQL}/31_sweep_requests.sql`,
        old: `elsif q.action = 'resolve' and (q.argument ->> 'about')::bigint is distinct from`,
        new: `elsif false and (q.argument ->> 'about')::bigint is distinct from`,
      },
    ],
    tests: [
      {
        file: 'packages/comanda/test/relay/word-of-a-person.test.ts',
        title: 'asked while the look-up runs, which leads to another send: it says nothing about that one',
      },
    ],
  },
];
