import type { Answer, BookEntry, ReceivedRequest } from './types.js';

/** The identifier that the provider gives to an act. */
export function actId({ number }: Pick<BookEntry, 'number'>): string {
  return `act_${number}`;
}

/** What was accepted and is named by a look-up: by its key, its id, or a value of its body. */
export function findActs(request: ReceivedRequest, accepted: readonly BookEntry[]): Answer {
  const asked = namesIn(request.path);
  const found = accepted.filter((act) => {
    const names = new Set([actId(act), ...(act.key === undefined ? [] : [act.key]), ...valuesIn(act.body)]);
    return asked.some((name) => names.has(name));
  });
  const [first] = found;
  if (first === undefined) return { status: 404, body: '{"error":"not found"}' };
  const data = found.map((act) => ({ id: actId(act), ...(act.key === undefined ? {} : { key: act.key }) }));
  return { body: JSON.stringify({ ...data[0], data }) };
}

/** Segments of the path, and values of the query. */
function namesIn(path: string): string[] {
  const url = new URL(path, 'http://provider.invalid');
  return [...url.pathname.split('/').map(decoded), ...url.searchParams.values()].filter((name) => name !== '');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Texts and numbers anywhere in a JSON body. */
function valuesIn(body: string): string[] {
  try {
    return scalars(JSON.parse(body));
  } catch {
    return [];
  }
}

function scalars(value: unknown): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(scalars) : [];
}
