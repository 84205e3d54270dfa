import type { RelayEvent } from 'comanda';
import { duration } from 'comanda/internal';

/** From the most to the least talkative. */
export const LOG_LEVELS = ['debug', 'info', 'warning', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How much an event matters. What happens many times a second is for those who look for something. */
export function levelOf(event: RelayEvent): LogLevel {
  switch (event.type) {
    case 'claimed':
    case 'settled':
      return 'debug';
    case 'warning':
    case 'lease_lost':
    case 'held':
      return 'warning';
    case 'listen':
      return event.up ? 'info' : 'warning';
    case 'target':
      return event.breaker === 'closed' ? 'info' : 'warning';
    case 'attempt':
      return event.outcome === 'failed' || event.outcome === 'unknown' ? 'warning' : 'info';
    default:
      return 'info';
  }
}

/** An event as a short line. */
export function messageOf(event: RelayEvent): string {
  switch (event.type) {
    case 'started':
      return `relay ${event.relayId} works on ${event.kinds.join(', ')}`;
    case 'claimed':
      return `claimed ${event.lanes} lanes, ${event.effects} effects`;
    case 'attempt':
      return `${event.kind} effect ${event.effectId} attempt ${event.attempt}: ${event.outcome} in ${duration(event.ms)}${event.errorText === undefined ? '' : ` (${event.errorText})`}`;
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
    case 'target':
      return event.breaker === 'closed'
        ? `the breaker of ${event.target} is closed: work flows again`
        : `the breaker of ${event.target} is ${event.breaker === 'open' ? `open: the next probe may leave in ${duration(event.waitMs)}` : 'half open: one probe may leave'}`;
    case 'warning':
      return `${event.message}${event.error === undefined ? '' : `: ${errorText(event.error)}`}`;
    case 'recovered':
      return `${event.code} is over: it failed ${event.times === 1 ? 'once' : `${event.times} times`} in ${duration(event.ms)}`;
    case 'stopped':
      return `relay ${event.relayId} has stopped`;
  }
}

/** One line; the statement and its parameters, which some drivers add, stay out. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return errorText(error.errors.at(-1));
  return error instanceof Error ? error.message || error.name : String(error);
}
