import { isComandaError } from '../../../kernel/errors.js';
import { checkHeader, HEADER_VALUE } from '../wire.js';
import {
  type Filled,
  fill,
  parseTemplate,
  placeholders,
  type Source,
  type Template,
  type Variables,
} from './template.js';

/** A header whose value may hold placeholders and variables of the environment. */
export interface HeaderTemplate {
  readonly name: string;
  readonly problems: readonly string[];
  readonly dynamic: boolean;
  /** Values of variables: they are masked wherever an answer or error repeats them. */
  readonly secrets: readonly string[];
  render(source: Source): Filled;
}

export function parseHeaderTemplate(name: string, text: string, variables: Variables): HeaderTemplate {
  const template = parseTemplate(text, variables);
  const dynamic = placeholders(template).length > 0;
  const problems = [...template.problems];
  // It names the place to which a request goes.
  if (dynamic && name.toLowerCase() === 'host') problems.push('is fixed: a payload does not say where a request goes');
  const sample = template.parts.map((part) => (typeof part === 'string' ? part : 'x')).join('');
  const wrong = headerProblem(name, sample);
  if (wrong !== undefined) problems.push(`is not usable: ${wrong}`);
  return { name, problems, dynamic, secrets: template.secrets, render: (source) => render(template, source) };
}

function render({ parts }: Template, source: Source): Filled {
  let value = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      value += part;
      continue;
    }
    const filled = fill(part, source);
    if ('problem' in filled) return filled;
    if (!HEADER_VALUE.test(filled.text)) {
      const where = 'pointer' in part ? `the value at ${part.pointer}` : `{#${part.name}}`;
      return {
        problem: `${where} holds a character that a header cannot carry (a line break, another control character, or one beyond Latin-1)`,
      };
    }
    value += filled.text;
  }
  return { text: value };
}

/** Names the header, never its value. */
function headerProblem(name: string, value: string): string | undefined {
  try {
    checkHeader(name, value);
    return undefined;
  } catch (error) {
    if (isComandaError(error, 'COMANDA_INVALID_CONFIG')) return String(error.details['problem']);
    throw error;
  }
}
