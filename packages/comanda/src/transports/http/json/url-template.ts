import { isComandaError } from '../../../kernel/errors.js';
import { parseUrl } from '../wire.js';
import { type Filled, fill, parseTemplate, placeholders, type Source } from './template.js';

/** A URL with placeholders in path and query. Scheme, host and port are those of the configuration, whatever a payload holds. */
export interface UrlTemplate {
  readonly problems: readonly string[];
  readonly dynamic: boolean;
  /** Host of every URL that it makes; empty when there are problems. */
  readonly hostname: string;
  render(source: Source): Filled;
}

/** Everything up to the end of the authority, and the character after it. */
const FIXED_ORIGIN = /^https?:\/\/[^/?#\\]+[/?]/i;
/** What the URL standard treats as `.` and `..`, escaped or not: no encoding keeps them from changing the path. */
const DOTS = /^(?:\.|%2e){1,2}$/i;

export function parseUrlTemplate(text: string): UrlTemplate {
  const template = parseTemplate(text, undefined);
  const dynamic = placeholders(template).length > 0;
  const [first = ''] = template.parts;
  const problems = [...template.problems];
  const literals = template.parts.filter((part) => typeof part === 'string');
  if (dynamic && !(typeof first === 'string' && FIXED_ORIGIN.test(first))) {
    problems.push(
      `has ${placeholders(template)[0]} before its path; scheme, host and port are fixed, placeholders stand in path and query only`,
    );
  }
  if (literals.some((part) => part.includes('#'))) problems.push("has a '#'; what follows it is never sent");

  const render = (source: Source): Filled => {
    let url = '';
    for (const part of template.parts) {
      if (typeof part === 'string') {
        url += part;
        continue;
      }
      const filled = fill(part, source);
      if ('problem' in filled) return filled;
      const where = 'pointer' in part ? `the value at ${part.pointer}` : `{#${part.name}}`;
      if (filled.text === '' && !url.includes('?'))
        return { problem: `${where} is empty, which would change the path` };
      url += encodeURIComponent(filled.text);
    }
    const [path = ''] = url.split('?');
    if (dynamic && path.split('/').some((segment) => DOTS.test(segment))) {
      return { problem: "a value would make '.' or '..' a part of the path, which would lead elsewhere" };
    }
    return { text: url };
  };

  let hostname = '';
  if (problems.length === 0) {
    const sample = template.parts.map((part) => (typeof part === 'string' ? part : 'x')).join('');
    const problem = problemOf(() => {
      hostname = parseUrl(sample).hostname;
    });
    if (problem !== undefined) problems.push(`is not usable: ${problem}`);
    else if (
      dynamic &&
      DOTS.test(
        sample
          .split(/[?]/)[0]
          ?.split('/')
          .find((part) => DOTS.test(part)) ?? '',
      )
    ) {
      problems.push("has '.' or '..' in its path; write the path that is meant");
    }
  }
  return { problems, dynamic, hostname, render };
}

function problemOf(run: () => void): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (isComandaError(error, 'COMANDA_INVALID_CONFIG')) return String(error.details['problem']);
    throw error;
  }
}
