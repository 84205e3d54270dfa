import type { RelayEvent } from 'comanda';
import { describeThrown, redactText } from 'comanda/internal';
import { LOG_LEVELS, type LogLevel, levelOf, messageOf } from './relay-messages.js';
import { styled, visible } from './render/visible.js';
import { createRepetitions } from './repetitions.js';
import type { Terminal } from './terminal.js';

/** Writes what a relay reports: short lines for people, or one JSON document per line. */
export interface RelayLog {
  event(event: RelayEvent): void;
  note(level: LogLevel, message: string, more?: Readonly<Record<string, unknown>>): void;
  /** Adds what must not stand in any line from here on. */
  hide(secrets: readonly string[]): void;
}

export interface LogOptions {
  readonly json: boolean;
  /** The least that is written. */
  readonly level: LogLevel;
  /** The time, ISO 8601. */
  readonly now: () => string;
  /** A clock that never goes back, in milliseconds. */
  readonly monotonicMs: () => number;
}

const TEXT_MAX_BYTES = 8_192;

export function createRelayLog(terminal: Terminal, { json, level: least, now, monotonicMs }: LogOptions): RelayLog {
  const repetitions = createRepetitions(monotonicMs);
  const secrets: string[] = [];
  let relayId: string | undefined;
  let held: string | undefined;
  let listen: string | undefined;

  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return redactText(value, { secrets, maxBytes: TEXT_MAX_BYTES });
    return Array.isArray(value) ? value.map(clean) : value;
  };

  const write = (level: LogLevel, event: string, message: string, more: Readonly<Record<string, unknown>>): void => {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(least)) return;
    const at = now();
    const said = redactText(message, { secrets, maxBytes: TEXT_MAX_BYTES });
    if (json) {
      const fields = Object.fromEntries(Object.entries(more).map(([name, value]) => [name, clean(value)]));
      terminal.jsonLine({ at, level, event, message: said, ...(relayId === undefined ? {} : { relayId }), ...fields });
    } else terminal.lines([`${styled(at.slice(11, 19), 'dim')} ${inked(level, visible(said))}`]);
  };

  /** Warnings that repeat are said once, and then counted. */
  const warn = (event: string, thing: string, message: string, more: Readonly<Record<string, unknown>>): void => {
    const turn = repetitions.say(thing);
    if (turn === undefined) return;
    const unsaid = turn.unsaid === 0 ? '' : ` (and ${turn.unsaid} times more since it was last said)`;
    write('warning', event, `${message}${unsaid}`, { ...more, ...(turn.unsaid === 0 ? {} : { unsaid: turn.unsaid }) });
  };

  return {
    hide: (more) => void secrets.push(...more),
    event(event) {
      if (event.type === 'started') ({ relayId } = event);
      // Repeated at each heartbeat; said once.
      if (event.type === 'held' && event.reason === held) return;
      if (event.type === 'held' || event.type === 'resumed') held = event.type === 'held' ? event.reason : undefined;
      if (event.type === 'listen') {
        const state = `${event.up} ${event.reason ?? ''}`;
        if (state === listen) return;
        listen = state;
      }
      if (event.type === 'warning') return warn('warning', thingOf(event), messageOf(event), fieldsOf(event));
      if (event.type === 'recovered') repetitions.forget(event.code);
      write(levelOf(event), event.type, messageOf(event), fieldsOf(event));
    },
    note(level, message, more = {}) {
      if (level === 'warning') warn('note', message, message, more);
      else write(level, 'note', message, more);
    },
  };
}

/** Codes that end with `recovered` are one thing, whatever the error says each time; of the others the message counts. */
function thingOf({ code, message }: Extract<RelayEvent, { type: 'warning' }>): string {
  return code.endsWith('_failed') && !/lane |effect /.test(message) ? code : `${code} ${message}`;
}

function fieldsOf(event: RelayEvent): Readonly<Record<string, unknown>> {
  const { type: _type, ...rest } = event;
  if (!('error' in rest)) return rest;
  const { message: _message, error, ...more } = rest;
  const { errorClass, errorText } = describeThrown(error);
  return { ...more, errorClass, error: errorText };
}

function inked(level: LogLevel, message: string): string {
  if (level === 'debug') return styled(message, 'dim');
  if (level === 'info') return message;
  return styled(message, level === 'error' ? 'red' : 'yellow');
}
