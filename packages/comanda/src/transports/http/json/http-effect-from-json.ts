import { comandaError } from '../../../kernel/errors.js';
import type { EffectDefinition } from '../../../ports/effect-definition.js';
import { httpEffect } from '../http-effect.js';
import { providerIdAt } from '../response.js';
import { type HttpTransport, httpTransport } from '../transport.js';
import type { HttpEffectDefinition, HttpFinding, HttpLookup, HttpResponse } from '../types.js';
import { judge } from './condition.js';
import { type RequestTemplate, requestTemplate } from './request-template.js';
import { isObject } from './shape.js';
import { keyProfile, shapeProblems } from './shapes.js';
import type { Variables } from './template.js';
import type { HttpEffectJson, HttpReconcileJson } from './types.js';
import { misplacedVariables } from './variables.js';

/** What the JSON form does not say itself. */
export interface HttpEffectFromJsonOptions {
  readonly transport?: HttpTransport;
  /** What `${env:NAME}` in values of headers stands for. Default: nothing, so that such a text is refused. */
  readonly variables?: Variables;
}

/**
 * Makes an effect kind from its JSON form: the stored payload is the body; path, query and values of headers may hold placeholders.
 *
 * @param spec as read from a file; every problem in it is named at once, and no value of a header, variable or URL
 * @throws ComandaError COMANDA_INVALID_CONFIG, also for properties that do not exist
 * @throws ComandaError COMANDA_UNSAFE_EFFECT for an irreversible kind without key that nobody could ever clear up
 */
export function httpEffectFromJson(spec: unknown, options: HttpEffectFromJsonOptions = {}): EffectDefinition {
  const variables = options.variables ?? {};
  const shape = isObject(spec) ? [...shapeProblems(spec), ...misplacedVariables(spec)] : ['must be an object'];
  if (!isHttpEffectJson(spec, shape)) {
    // What can be read is checked as well, so that everything wrong is said at once.
    throw refused(spec, [...shape, ...templatesOf(spec, variables).flatMap(({ problems }) => problems)]);
  }
  const templates = templatesOf(spec, variables);
  const problems = templates.flatMap((template) => template.problems);
  if (problems.length > 0) throw refused(spec, problems);

  const transport = options.transport ?? transportOf(spec);
  const places = templates.flatMap(({ hostname }) => transport.refusal(hostname) ?? []);
  if (places.length > 0) throw refused(spec, [...new Set(places)]);
  return httpEffect(definitionOf(spec, templates, transport, options.transport !== undefined));
}

function definitionOf(
  spec: HttpEffectJson,
  templates: readonly RequestTemplate[],
  transport: HttpTransport,
  given: boolean,
): HttpEffectDefinition {
  const { url: _url, method: _method, headers: _headers, success, reconcile, allowPrivateAddresses, ...rest } = spec;
  const [request, lookUp] = templates;
  if (request === undefined) throw new RangeError('an effect has a request');
  const dynamic = templates.some((template) => template.dynamic);
  return {
    ...rest,
    idempotency: keyProfile(spec.idempotency),
    request: request.source,
    transport,
    secrets: templates.flatMap(({ secrets }) => secrets),
    ...(success === undefined ? {} : { success: (response) => happened(success, response) }),
    ...(reconcile === undefined || lookUp === undefined ? {} : { reconcile: lookUpOf(reconcile, lookUp) }),
    ...(given && allowPrivateAddresses !== undefined ? { allowPrivateAddresses } : {}),
    // An effect whose look-up could not be made is not sent in the first place.
    ...(dynamic
      ? { validate: async (input) => [...new Set(templates.flatMap((template) => template.misfit(input) ?? []))] }
      : {}),
  };
}

/** An answer that cannot be read says neither yes nor no: the outcome stays open. */
function happened(success: NonNullable<HttpEffectJson['success']>, response: HttpResponse): boolean {
  const found = judge(success, response);
  if (found === 'unreadable' && response.complete) {
    throw Object.assign(new Error(`the answer has no value at ${success.pointer}`), { code: 'answer_unreadable' });
  }
  return found === 'yes';
}

function lookUpOf(
  { applied, absent, providerId }: HttpReconcileJson,
  { source }: RequestTemplate,
): HttpLookup<unknown> {
  return {
    request: source,
    read: (response): HttpFinding => {
      const yes = judge(applied, response) === 'yes';
      const no = absent !== undefined && judge(absent, response) === 'yes';
      if (yes === no) return 'cannotTell';
      if (no) return 'absent';
      const id = providerId === undefined ? undefined : providerIdAt(providerId, response);
      return id === undefined ? 'applied' : { found: 'applied', providerId: id };
    },
  };
}

/** The request, and that of the look-up. Of a form that is not right, what can be read. */
function templatesOf(spec: unknown, variables: Variables): RequestTemplate[] {
  if (!isObject(spec)) return [];
  const reconcile = isObject(spec['reconcile']) ? spec['reconcile']['request'] : undefined;
  const one = (request: unknown, prefix: string): RequestTemplate[] => {
    if (!isObject(request) || typeof request['url'] !== 'string' || request['url'] === '') return [];
    const headers = isObject(request['headers']) ? request['headers'] : {};
    const texts = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    const { url, method } = request;
    const json = { url, headers: Object.fromEntries(texts), ...(typeof method === 'string' ? { method } : {}) };
    return [requestTemplate(json, prefix, variables)];
  };
  return [...one(spec, ''), ...one(reconcile, 'reconcile.request.')];
}

function transportOf({ allowPrivateAddresses }: HttpEffectJson): HttpTransport {
  return httpTransport(allowPrivateAddresses === undefined ? {} : { allowPrivateAddresses });
}

function isHttpEffectJson(spec: unknown, problems: readonly string[]): spec is HttpEffectJson {
  return isObject(spec) && problems.length === 0;
}

function refused(spec: unknown, problems: readonly string[]): Error {
  const name = isObject(spec) && typeof spec['kind'] === 'string' ? ` '${spec['kind']}'` : '';
  return comandaError('COMANDA_INVALID_CONFIG', { problem: `HTTP effect${name}: ${problems.join('; ')}` });
}
