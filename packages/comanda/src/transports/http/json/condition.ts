import { readPointer } from '../json-pointer.js';
import type { HttpResponse } from '../types.js';

/** What an answer must look like: a status, and at most one value of its JSON body. */
export interface HttpConditionJson {
  /** A status, a class such as `2xx`, or a list of both. Default: `2xx`. */
  readonly status?: number | string | readonly (number | string)[];
  /** JSON pointer into the answer. Together with `equals`. */
  readonly pointer?: string;
  /** A text, a number, true, false or null. */
  readonly equals?: string | number | boolean | null;
}

/** What an answer says about a condition. `unreadable`: the status fits, and there is no value at the pointer. */
export type Judgement = 'yes' | 'no' | 'unreadable';

/** Judges an answer by a condition that was checked before. */
export function judge({ status, pointer, equals }: HttpConditionJson, response: HttpResponse): Judgement {
  const wanted = Array.isArray(status) ? status : [status ?? '2xx'];
  if (!wanted.some((one: number | string) => fits(one, response.status))) return 'no';
  if (pointer === undefined) return 'yes';
  const value = readPointer(response.json(), pointer);
  if (value === undefined) return 'unreadable';
  // Numbers that a double would change are read as other things than numbers, and are equal to nothing that a file can say.
  return value === equals ? 'yes' : 'no';
}

function fits(wanted: number | string, status: number): boolean {
  return typeof wanted === 'number' ? wanted === status : Number(wanted[0]) === Math.floor(status / 100);
}
