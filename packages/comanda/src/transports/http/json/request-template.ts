import { parseJsonWith } from '../../../kernel/json-parse.js';
import { uncheckedRawJson } from '../../../kernel/raw-json-value.js';
import type { HttpEffect, HttpRequest, HttpRequestSource } from '../types.js';
import { unfit } from '../unfit.js';
import { parseHeaderTemplate } from './header-template.js';
import type { Filled, Source, Variables } from './template.js';
import { parseUrlTemplate } from './url-template.js';

/** A request as it stands in a file. */
export interface HttpRequestJson {
  /** `https://host/path?query`; `{/pointer}`, `{#key}` and `{#subject}` may stand in path and query. */
  readonly url: string;
  readonly method?: string;
  /** `{/pointer}`, `{#key}`, `{#subject}` and `${env:NAME}` may stand in values. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that is made from each effect. */
export interface RequestTemplate {
  /** What is wrong with it, each with the property it stands in. */
  readonly problems: readonly string[];
  /** Whether it has placeholders. */
  readonly dynamic: boolean;
  readonly hostname: string;
  readonly secrets: readonly string[];
  readonly source: HttpRequestSource<unknown>;
  /** Why no request can be made from a payload. */
  misfit(payload: unknown): string | undefined;
}

/** @param prefix what leads to the request in the file, e.g. `reconcile.request.` */
export function requestTemplate(json: HttpRequestJson, prefix: string, variables: Variables): RequestTemplate {
  const url = parseUrlTemplate(json.url);
  const headers = Object.entries(json.headers ?? {}).map(([name, text]) => parseHeaderTemplate(name, text, variables));
  const problems = [
    ...url.problems.map((problem) => `'${prefix}url' ${problem}`),
    ...headers.flatMap(({ name, problems: found }) => found.map((problem) => `'${prefix}headers.${name}' ${problem}`)),
  ];
  const render = (source: Source): HttpRequest => ({
    url: textOf(url.render(source)),
    headers: Object.fromEntries(headers.map((header) => [header.name, textOf(header.render(source))])),
    ...(json.method === undefined ? {} : { method: json.method }),
  });
  const dynamic = url.dynamic || headers.some((header) => header.dynamic);
  const fixed = { payload: {}, key: 'x', subject: 'x' };
  return {
    problems,
    dynamic,
    hostname: url.hostname,
    secrets: headers.flatMap(({ secrets }) => secrets),
    source: dynamic || problems.length > 0 ? (effect) => render(sourceOf(effect)) : render(fixed),
    misfit(payload) {
      if (!dynamic) return undefined;
      try {
        render({ ...fixed, payload });
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
  };
}

function sourceOf({ payloadText, sentKey, subject }: HttpEffect<unknown>): Source {
  return { payload: parseJsonWith(payloadText, uncheckedRawJson), key: sentKey, subject };
}

function textOf(filled: Filled): string {
  if ('problem' in filled) throw unfit(`${filled.problem}; nothing was sent`);
  return filled.text;
}
