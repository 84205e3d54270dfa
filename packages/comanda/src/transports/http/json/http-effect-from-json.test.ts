import { describe, expect, it } from 'vitest';
import { isComandaError } from '../../../kernel/errors.js';
import { httpEffectFromJson } from './http-effect-from-json.js';

const json = {
  kind: 'issue_refund',
  url: 'https://pay.example.com/refunds',
  risk: 'irreversible',
  idempotency: 'key',
};
const env = (name: string): string => `\${env:${name}}`;
const variables = { KEY: 'sk_live_s3cret', EMPTY: '' };

function problem(spec: unknown): string {
  try {
    httpEffectFromJson(spec, { variables });
  } catch (error) {
    if (isComandaError(error)) return `${error.code} ${error.details['problem']}`;
    throw error;
  }
  return 'none';
}

const refusal = (more: object): string =>
  problem({ ...json, ...more }).replace("COMANDA_INVALID_CONFIG HTTP effect 'issue_refund': ", '');

it('reads what it knows', () => {
  const spec = {
    ...json,
    target: 'payments',
    method: 'PUT',
    headers: { Authorization: `Bearer ${env('KEY')}` },
    timeout: '5s',
    retry: { maxAttempts: 3, baseDelay: '2s', maxDelay: '1m', backoff: 'exponential' },
    redact: ['customer.email'],
    stale: 'skip',
    maxAge: '30d',
    idempotency: 'profile:stripe',
    onUnknown: 'reconcile',
    reconcile: {
      request: { url: 'https://pay.example.com/refunds?key={#key}', headers: { 'x-key': env('KEY') } },
      applied: { status: 200, pointer: '/status', equals: 'ok' },
      absent: { status: [404, '5xx'] },
      providerId: '/id',
    },
  };
  expect(httpEffectFromJson(JSON.parse(JSON.stringify(spec)), { variables }).definition).toMatchObject({
    target: 'payments',
    timeoutMs: 5_000,
    maxAttempts: 3,
    backoffBaseMs: 2_000,
    backoffMaxMs: 60_000,
    redact: ['customer.email'],
    stale: 'skip',
    maxAgeMs: 2_592_000_000,
    idempotency: 'key',
    key: { lifetimeMs: 86_400_000, keyMaxBytes: 255 },
    onUnknown: 'reconcile',
  });
});

describe('L13: everything wrong is named at once, with what was found and what is allowed', () => {
  it.each([
    ['no object', [], 'HTTP effect: must be an object'],
    [
      'missing properties',
      { kind: 'k' },
      "HTTP effect 'k': 'url' is missing; 'risk' is missing; 'idempotency' is missing",
    ],
    [
      'many at once',
      { ...json, url: 'https://x.example/{id}', headers: { a: env('NOTHING') }, tmeout: 1, retry: { maxAttempts: 0 } },
      "HTTP effect 'issue_refund': unknown property 'tmeout', did you mean 'timeout'?; 'retry.maxAttempts' is 0, must be a whole number from 1; " +
        "'url' has {id}, which is no placeholder; write {/pointer} for a value of the payload, or {#key} or {#subject}; " +
        `'headers.a' names the variable NOTHING, which is not set; set it, or remove ${env('NOTHING')}`,
    ],
  ])('%s', (_, spec, message) => {
    expect(problem(spec)).toBe(`COMANDA_INVALID_CONFIG ${message}`);
  });

  it.each([
    [{ tmeout: '5s' }, "unknown property 'tmeout', did you mean 'timeout'?"],
    [{ zebra: 1 }, /^unknown property 'zebra'; there is kind, target, /],
    [{ toString: 1 }, /^unknown property 'toString'; there is/],
    [{ retry: { maxAttempt: 3 } }, "unknown property 'retry.maxAttempt', did you mean 'retry.maxAttempts'?"],
    [{ version: '1' }, "'version' is '1', must be a whole number from 1"],
    [{ headers: { a: 1 } }, "'headers' has a number at 'a', must be an object of names and texts"],
    [{ idempotencyHeader: true }, "'idempotencyHeader' is true, must be a text that is not empty, or false"],
    [{ retry: [] }, "'retry' is a list, must be an object"],
    [{ redact: 'x' }, "'redact' is a text, must be a list of texts"],
    [
      { method: 'post' },
      "'method' is 'post', must be one of 'POST', 'PUT', 'PATCH', 'DELETE', 'GET'; did you mean 'POST'?",
    ],
    [
      { risk: 'ireversible' },
      "'risk' is 'ireversible', must be one of 'reversible', 'irreversible'; did you mean 'reversible'?",
    ],
    [
      { timeout: '5 parsecs' },
      "'timeout' is '5 parsecs', expected milliseconds or a text such as '20s', '10m' or '72h'",
    ],
    [{ timeout: '365d' }, "'timeout' is '365d', allowed is 1ms to 24d"],
    [{ maxAge: true }, "'maxAge' is true, must be milliseconds or a text such as '20s'"],
    [{ providerId: 'id' }, "'providerId' is 'id', which is no JSON pointer: it must start with '/', e.g. '/id'"],
    [{ allowPrivateAddresses: 'x' }, "'allowPrivateAddresses' is a text, must be true or a list of texts"],
    [
      { url: 'http://10.0.0.1/' },
      '10.0.0.1 is a private address; list it in allowPrivateAddresses if the target really is inside your network',
    ],
    [{ onUnknown: 'reconcile' }, "onUnknown is 'reconcile' but there is no reconcile"],
  ])('%j', (more, message) => {
    if (typeof message === 'string') expect(refusal(more)).toBe(message);
    else expect(refusal(more)).toMatch(message);
  });

  it('an unsafe kind', () => {
    expect(problem({ ...json, idempotency: 'none' })).toMatch(/^COMANDA_UNSAFE_EFFECT /);
    expect(problem({ ...json, idempotency: 'none', onUnknown: 'ask-human' })).toBe('none');
  });
});

describe('idempotency', () => {
  it.each([
    [
      'yes',
      "'idempotency' is 'yes', must be one of 'key', 'natural', 'none', 'profile:NAME' (NAME is stripe, resend, checkoutCom, trueLayer, qonto, paypal, ppro, zuora) or an object",
    ],
    ['profile:strpe', /; did you mean 'profile:stripe'\?$/],
    [{}, "'idempotency.mode' is missing"],
    [{ mode: 'key', lifetime: 'for ever' }, /^'idempotency.lifetime' is 'for ever', expected milliseconds/],
    [{ mode: 'key', carrier: {} }, "'idempotency.carrier' must have either 'header' or 'body'"],
    [
      { mode: 'key', carrier: { header: 'a', body: '/b' } },
      "'idempotency.carrier' must have either 'header' or 'body'",
    ],
    [
      { mode: 'key', carrier: { bdy: '/b' } },
      "unknown property 'idempotency.carrier.bdy', did you mean 'idempotency.carrier.body'?",
    ],
    [{ mode: 'key', keyMaxBytes: 8 }, 'idempotency.keyMaxBytes is 8, expected a whole number from 32'],
    [{ mode: 'key', lifetime: '1m' }, /^idempotency.margin is 120000 ms and the key lives 60000 ms/],
    [{ mode: 'key', conflict: 'wait' }, "'idempotency.conflict' is 'wait', must be one of 'in-progress', 'failed'"],
  ])('%j', (idempotency, message) => {
    if (typeof message === 'string') expect(refusal({ idempotency })).toBe(message);
    else expect(refusal({ idempotency })).toMatch(message);
  });

  it('a key in the body needs a body', () => {
    const idempotency = { mode: 'key', carrier: { body: '/key' } };
    expect(refusal({ idempotency, method: 'DELETE' })).toBe(
      "the idempotency key goes into the body at '/key', and 'DELETE' has none",
    );
    expect(refusal({ idempotency, method: 'DELETE', url: 'https://x.example/{/id}' })).toBe(
      "the idempotency key goes into the body at '/key', and 'DELETE' has none",
    );
    expect(refusal({ idempotency })).toBe('none');
  });
});

describe('conditions', () => {
  it.each([
    [{}, "'success' is empty, must have status, or pointer and equals"],
    [{ status: [] }, /^'success.status' is an empty list, must be a number from 200 to 599/],
    [{ status: ['2xx', '20x'] }, /^'success.status' is '20x', must be a number from 200 to 599, a class such as '2xx'/],
    [{ status: 100 }, /^'success.status' is 100/],
    [{ pointer: '/ok' }, "'success.pointer' needs 'success.equals'"],
    [{ equals: true }, "'success.equals' needs 'success.pointer'"],
    [{ pointer: '/ok', equals: [] }, "'success.equals' is a list, must be a text, a number, true, false or null"],
    [{ pointer: '/ok', equals: 2 ** 60 }, /^'success.equals' is a number that loses digits/],
  ])('%j', (success, message) => {
    if (typeof message === 'string') expect(refusal({ success })).toBe(message);
    else expect(refusal({ success })).toMatch(message);
  });

  it('a look-up asks, and says how to read the answer', () => {
    const request = { url: 'https://x.example/{/id}' };
    expect(refusal({ reconcile: {} })).toBe("'reconcile.request' is missing; 'reconcile.applied' is missing");
    expect(refusal({ reconcile: { request: { ...request, method: 'POST' }, applied: { status: 200 } } })).toBe(
      "'reconcile.request.method' is 'POST', must be one of 'GET', 'HEAD'",
    );
    expect(refusal({ reconcile: { request, applied: { staus: 200 }, absent: { status: 'none' } } })).toBe(
      "unknown property 'reconcile.applied.staus', did you mean 'reconcile.applied.status'?; " +
        "'reconcile.absent.status' is 'none', must be a number from 200 to 599, a class such as '2xx', or a list of them",
    );
    expect(refusal({ reconcile: { request: { url: 'https://{/host}/x' }, applied: { status: 200 } } })).toMatch(
      /^'reconcile.request.url' has \{\/host\} before its path/,
    );
    expect(refusal({ idempotency: 'none', reconcile: { request, applied: { status: 200 } } })).toBe('none');
  });
});

describe('placeholders', () => {
  const url = (text: string): string => refusal({ url: text });

  it.each([
    'https://{/host}/x',
    '{/url}',
    'https://x.example{/path}',
    'https://x.example:{/port}/',
    'https://{/user}@x.example/',
    '{/scheme}://x.example/',
  ])('%s: an origin never comes from the payload', (text) => {
    expect(url(text)).toMatch(
      /before its path; scheme, host and port are fixed, placeholders stand in path and query only/,
    );
  });

  it.each([
    ['https://x.example/{}', /^'url' has \{\}, which is no placeholder; write \{\/pointer\}/],
    ['https://x.example/{id}', /^'url' has \{id\}, which is no placeholder/],
    ['https://x.example/{#tenant}', /^'url' has \{#tenant\}, which is no placeholder/],
    [
      'https://x.example/{/a~b}',
      "'url' has the placeholder {/a~b}, whose pointer has a '~' that is neither '~0' nor '~1'",
    ],
    ['https://x.example/{/a', /^'url' has a '\{' that belongs to no placeholder/],
    ['https://x.example/a}', /^'url' has a '\}' that belongs to no placeholder/],
    ['https://x.example/{/a}#top', "'url' has a '#'; what follows it is never sent"],
    ['https://x.example/../{/a}', "'url' has '.' or '..' in its path; write the path that is meant"],
    ['https://user:pw@x.example/{/a}', /^'url' is not usable: the URL holds a user or password/],
    ['x.example/a', "'url' is not usable: the URL is not absolute, expected https://host/path"],
  ])('%s', (text, message) => {
    if (typeof message === 'string') expect(url(text)).toBe(message);
    else expect(url(text)).toMatch(message);
  });

  it('a host header is no place for one', () => {
    expect(refusal({ headers: { Host: '{/host}' } })).toBe(
      "'headers.Host' is fixed: a payload does not say where a request goes",
    );
    expect(refusal({ headers: { 'Content-Length': '{/n}' } })).toBe(
      "'headers.Content-Length' is not usable: the header Content-Length is set by the transport",
    );
  });
});

describe('S06: variables of the environment', () => {
  it.each([
    [{ url: `https://x.example/${env('KEY')}` }, 'url'],
    [{ target: env('KEY') }, 'target'],
    [{ redact: ['a', env('KEY')] }, 'redact[1]'],
    [{ success: { pointer: '/a', equals: env('KEY') } }, 'success.equals'],
    [
      { reconcile: { request: { url: `https://x.example/?k=${env('KEY')}` }, applied: { status: 200 } } },
      'reconcile.request.url',
    ],
  ])('%j: stand in values of headers only', (more, path) => {
    expect(refusal(more)).toBe(
      `'${path}' holds ${env('KEY')}; variables of the environment are read in values of headers only`,
    );
  });

  it.each(['NOTHING', 'EMPTY', 'toString'])('%s, which holds nothing, is refused by name', (name) => {
    expect(refusal({ headers: { a: `Bearer ${env(name)}` } })).toContain(
      `'headers.a' names the variable ${name}, which is not set; set it, or remove ${env(name)}`,
    );
  });

  it('a value is never shown, and is no place for placeholders', () => {
    const broken = { KEY: 'sk_live_{/x}\n' };
    expect(() => httpEffectFromJson({ ...json, headers: { a: env('KEY') } }, { variables: broken })).toThrow(
      /^(?!.*sk_live).*the value of the header a is not a text without line breaks/s,
    );
    const braces = { KEY: 'sk_{live}' };
    expect(() => httpEffectFromJson({ ...json, headers: { a: env('KEY') } }, { variables: braces })).not.toThrow();
  });
});
