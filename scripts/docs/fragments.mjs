import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { adrIndex } from './adr-index.mjs';
import { errorSections, errorTable } from './errors.mjs';
import { classificationTable } from './http-classification.mjs';
import { limitsTable } from './limits.mjs';
import { mutationTable } from './mutations.mjs';
import { optionsTable } from './options.mjs';
import { profilesTable } from './profiles.mjs';
import { smtpTable } from './smtp-classification.mjs';
import { stateDiagram, stepTable } from './states.mjs';

/** Limits of what is not shipped yet. */
const NOT_SHIPPED = ['KEY_RETENTION_MS'];

/** Every part of the manual that is made from the code, by name. */
export async function makeFragments(root) {
  const built = (path) => load(join(root, 'packages/comanda/dist', path));
  const source = (path) => join(root, 'packages/comanda/src', path);
  const [{ ERRORS }, states, { HTTP_CLASSIFICATION }, limits, { profiles }, { repetitionOf }, { SMTP_CLASSIFICATION }] =
    await Promise.all([
      built('kernel/error-registry.js'),
      built('kernel/states.js'),
      built('transports/http/classify.js'),
      built('kernel/limits.js'),
      built('ports/profiles.js'),
      built('ports/key-contract.js'),
      built('transports/smtp/classify.js'),
    ]);
  const { MUTATIONS } = await load(join(root, 'proof/dist/mutants/mutations.js'));
  return {
    mutations: mutationTable(MUTATIONS),
    'error-table': errorTable(ERRORS),
    'error-sections': errorSections(ERRORS),
    'effect-diagram': stateDiagram(states.EFFECT_STATES, states.EFFECT_INITIAL_STATES, states.EFFECT_TRANSITIONS),
    'run-diagram': stateDiagram(states.RUN_STATES, states.RUN_INITIAL_STATES, states.RUN_TRANSITIONS),
    'effect-steps': stepTable(states.EFFECT_TRANSITIONS),
    'run-steps': stepTable(states.RUN_TRANSITIONS),
    'http-classification': classificationTable(HTTP_CLASSIFICATION),
    'relay-options': optionsTable(source('relay/options.ts'), 'RelayOptions'),
    'effect-spec': optionsTable(source('relay/define-effect.ts'), 'EffectSpec'),
    'http-effect': optionsTable(source('transports/http/types.ts'), 'HttpEffectDefinition'),
    'key-profile': optionsTable(source('ports/idempotency.ts'), 'KeyProfile'),
    profiles: profilesTable(source('ports/profiles.ts'), profiles, repetitionOf),
    'http-effect-json': optionsTable(source('transports/http/json/types.ts'), 'HttpEffectJson'),
    'http-retry-json': optionsTable(source('transports/http/json/types.ts'), 'HttpRetryJson'),
    'http-reconcile-json': optionsTable(source('transports/http/json/types.ts'), 'HttpReconcileJson'),
    'http-condition-json': optionsTable(source('transports/http/json/condition.ts'), 'HttpConditionJson'),
    'http-request-json': optionsTable(source('transports/http/json/request-template.ts'), 'HttpRequestJson'),
    'http-transport': optionsTable(source('transports/http/transport.ts'), 'HttpTransportOptions'),
    'smtp-classification': smtpTable(SMTP_CLASSIFICATION),
    'smtp-effect': optionsTable(source('transports/smtp/types.ts'), 'SmtpEffectDefinition'),
    'smtp-message': optionsTable(source('transports/smtp/types.ts'), 'SmtpMessage'),
    'smtp-server': optionsTable(source('transports/smtp/types.ts'), 'SmtpServer'),
    decision: optionsTable(source('ports/intent.ts'), 'Decision'),
    'effect-options': optionsTable(source('ports/intent.ts'), 'EffectOptions'),
    limits: limitsTable(source('kernel/limits.ts'), limits, NOT_SHIPPED),
    'adr-index': adrIndex(join(root, 'docs/adr')),
  };
}

async function load(path) {
  if (!existsSync(path)) throw new Error(`${path} is missing: build first (npm run build)`);
  return await import(pathToFileURL(path).href);
}
