--! online
-- What the effect contract needs: when a delayed effect was due, who probes a broken target, which installation a relay believes to work for.
-- Only columns that may be null, or that have a constant default: no table is rewritten.
alter table comanda.effect add column due_at timestamptz;

alter table comanda.target add column probe_by text;
alter table comanda.target add column openings int not null default 0;
alter table comanda.target add column opened_at timestamptz;
alter table comanda.target add column set_by text;
alter table comanda.target add column paused_at timestamptz;

alter table comanda.relay add column environment text;
alter table comanda.relay add column endpoint text;
alter table comanda.relay add column holds text;

-- The latest decisions about a subject, without reading all of them.
drop index comanda.run_subject;
create index run_subject on comanda.run (subject, id) where subject <> '';
-- Look-ups go on while everything else is off, and must not search for their lanes among those that wait.
create index lane_unknown on comanda.lane (kind, ready_at) where trouble = 'unknown';

-- Up to which number all effects have ended, so that the search for lost ones does not read the whole history. See advance_ended_mark().
create table comanda.ended_mark (
  singleton boolean primary key default true check (singleton),
  effect_id bigint not null default 0,
  candidate bigint not null default 0,
  candidate_xid xid8
);
insert into comanda.ended_mark default values;

-- Their rows get more columns, and the row type of a function cannot be replaced. They do not exist yet in a new installation: functions are made after all migrations.
drop function if exists comanda.relay_beat(jsonb);
drop function if exists comanda.sweep(jsonb);
drop function if exists comanda.route(jsonb);
drop function if exists comanda.claim(jsonb);
drop function if exists comanda.payloads(jsonb);
drop function if exists comanda.may_send(jsonb);
drop function if exists comanda.settle(jsonb);
drop function if exists comanda.publish_kinds(jsonb);
drop function if exists comanda.stopped(boolean);
