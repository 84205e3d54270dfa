/**
 * Where a process can be killed at an exchange with the world outside it:
 * `before` the request leaves (it arrives nowhere), once it has been `sent` and carried out (the answer is never read),
 * and once the answer was `answered`: taken from the socket.
 */
export type Point = 'before' | 'sent' | 'answered';

export const POINTS: readonly Point[] = ['before', 'sent', 'answered'];

/** One exchange of a recording, by its name and how often that name had come before. */
export interface Boundary {
  /** The statement or request, e.g. `settle next: completed` or `POST /keyed`. */
  readonly name: string;
  /** 1 for the first one of that name. */
  readonly occurrence: number;
  /** A poll that learned nothing new; all of one name are one boundary. */
  readonly idle: boolean;
  /** The exchange, itself not idle, that had been answered last when this one was asked: what `before` has to wait for. */
  readonly after: string | undefined;
}

/** A boundary and the side of it at which the process dies. */
export interface Aim {
  readonly boundary: Boundary;
  readonly point: Point;
}

export function idOf({ name, occurrence, idle }: Pick<Boundary, 'name' | 'occurrence' | 'idle'>): string {
  return idle ? `${name} (nothing new)` : occurrence === 1 ? name : `${name} #${occurrence}`;
}
