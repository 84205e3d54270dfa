import type { RelayEvent } from 'comanda';
import { duration } from 'comanda/internal';
import { styled, visible } from './render/visible.js';
import type { Terminal } from './terminal.js';

type Level = 'info' | 'warning' | 'error';

/** Writes what a relay reports: short lines for people, or one JSON document per line. */
export interface RelayLog {
  event(event: RelayEvent): void;
  note(level: Level, message: string, more?: Readonly<Record<string, unknown>>): void;
}

export interface LogOptions {
  readonly json: boolean;
  /** Also what happens many times a second: claims and settlements. */
  readonly verbose: boolean;
  /** The time, ISO 8601. */
  readonly now: () => string;
}

const CHATTY: ReadonlySet<string> = new Set(['claimed', 'settled']);

export function createRelayLog(terminal: Terminal, { json, verbose, now }: LogOptions): RelayLog {
  let held: string | undefined;
  const write = (level: Level, event: string, message: string, more: Readonly<Record<string, unknown>>): void => {
    const at = now();
    if (json) terminal.jsonLine({ at, level, event, message, ...more });
    else terminal.lines([`${styled(at.slice(11, 19), 'dim')} ${inked(level, visible(message))}`]);
  };
  return {
    event(event) {
      if (CHATTY.has(event.type) && !verbose) return;
      // Repeated at each heartbeat; said once.
      if (event.type === 'held' && event.reason === held) return;
      if (event.type === 'held' || event.type === 'resumed') held = event.type === 'held' ? event.reason : undefined;
      const { type, ...rest } = event;
      const error = 'error' in rest ? { error: errorText(rest.error) } : {};
      write(levelOf(event), type, messageOf(event), { ...rest, ...error });
    },
    note: (level, message, more = {}) => write(level, 'note', message, more),
  };
}

function inked(level: Level, message: string): string {
  if (level === 'info') return message;
  return styled(message, level === 'error' ? 'red' : 'yellow');
}

function levelOf(event: RelayEvent): Level {
  switch (event.type) {
    case 'warning':
    case 'lease_lost':
    case 'held':
      return 'warning';
    case 'listen':
      return event.up ? 'info' : 'warning';
    case 'attempt':
      return event.outcome === 'failed' || event.outcome === 'unknown' ? 'warning' : 'info';
    default:
      return 'info';
  }
}

function messageOf(event: RelayEvent): string {
  switch (event.type) {
    case 'started':
      return `relay ${event.relayId} works on ${event.kinds.join(', ')}`;
    case 'claimed':
      return `claimed ${event.lanes} lanes, ${event.effects} effects`;
    case 'attempt':
      return `${event.kind} effect ${event.effectId} attempt ${event.attempt}: ${event.outcome} in ${duration(event.ms)}`;
    case 'settled':
      return `settled ${event.lanes} lanes${event.fenced === 0 ? '' : `, ${event.fenced} fenced`}`;
    case 'lease_lost':
      return `lost the lease of lane ${event.lane} while effect ${event.effectId} was under way; its end: ${event.late}`;
    case 'listen':
      return event.up
        ? 'listens for new work'
        : `does not listen, only polls${event.reason === undefined ? '' : `: ${event.reason}`}`;
    case 'held':
      return `holds: ${event.reason}`;
    case 'resumed':
      return 'goes on: nothing holds it any more';
    case 'warning':
      return `${event.message}${event.error === undefined ? '' : `: ${errorText(event.error)}`}`;
    case 'stopped':
      return `relay ${event.relayId} has stopped`;
  }
}

/** One line; the statement and its parameters, which some drivers add, stay out. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return errorText(error.errors.at(-1));
  return error instanceof Error ? error.message || error.name : String(error);
}
