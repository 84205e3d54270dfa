import { readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ComandaError, type EffectDefinition, type EffectKind, isComandaError } from 'comanda';
import { didYouMean } from 'comanda/internal';
import type { TargetLimits } from 'comanda/relay';
import type { Environment } from './environment.js';
import { badConfig } from './failure.js';

/** What a relay executes, from the deployment's own file. */
export type ConfiguredEffect = EffectKind | EffectDefinition<never>;

/** What a relay is configured with. */
export interface RelayConfig {
  readonly effects: readonly ConfiguredEffect[];
  /** Limits per target, as they stand in the file: the relay checks them. */
  readonly targets?: Readonly<Record<string, TargetLimits>>;
}

/** Properties of the configuration. */
const PROPERTIES = ['effects', 'targets'];

/**
 * Loads a relay's configuration: a module whose default export is `{ effects: [...], targets?: {...} }` or the list, or a JSON file
 * `{ "effects": [...], "targets": {...} }` with HTTP effects.
 *
 * @throws CliError that names the file; nothing of a JSON file's content is repeated, it can hold secrets
 */
export async function loadConfig(file: string, env: Environment): Promise<RelayConfig> {
  const path = resolve(file);
  const type = extname(path).toLowerCase();
  if (type === '.json') return await fromJson(path, file, env);
  if (type === '.mjs' || type === '.js') return await fromModule(path, file);
  throw badConfig(`The configuration ${file} cannot be read: its name must end in .mjs, .js or .json.`);
}

async function fromJson(path: string, file: string, env: Environment): Promise<RelayConfig> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unreadable(file, error);
  });
  const config = parseJson(text, file);
  const specs = effectsOf(config, file);
  const { httpEffectFromJson } = await import('comanda/transports/http');
  const made = specs.map((spec) => attempt(() => httpEffectFromJson(spec, { variables: env })));
  const errors = made.flatMap((one) => ('error' in one ? [one.error] : []));
  const [first] = errors;
  if (first === undefined)
    return { effects: made.flatMap((one) => ('effect' in one ? [one.effect] : [])), ...targetsOf(config) };
  if (errors.length === 1) throw first;
  // Everything wrong is said at once.
  const problems = errors.map(({ code, details, message }) =>
    code === 'COMANDA_INVALID_CONFIG' ? String(details['problem']) : message,
  );
  throw badConfig(`The configuration ${file} cannot be used: ${problems.join('; ')}. Nothing was executed.`);
}

function attempt<Effect>(make: () => Effect): { readonly effect: Effect } | { readonly error: ComandaError } {
  try {
    return { effect: make() };
  } catch (error) {
    if (isComandaError(error)) return { error };
    throw error;
  }
}

async function fromModule(path: string, file: string): Promise<RelayConfig> {
  const module: unknown = await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  const exported = isObject(module) ? module['default'] : undefined;
  if (exported === undefined) {
    throw badConfig(`The configuration ${file} has no default export. Write: export default { effects: [...] }.`);
  }
  const effects = effectsOf(exported, file);
  effects.forEach((effect, i) => {
    if (!isEffect(effect)) {
      throw badConfig(
        `In the configuration ${file}, effects[${i}] is no effect kind. Make it with defineEffect() or httpEffect().`,
      );
    }
  });
  return { effects: effects as readonly ConfiguredEffect[], ...targetsOf(exported) };
}

/** Checked by the relay, which knows which targets there are. */
function targetsOf(config: unknown): Pick<RelayConfig, 'targets'> {
  return isObject(config) && config['targets'] !== undefined
    ? { targets: config['targets'] as Readonly<Record<string, TargetLimits>> }
    : {};
}

function effectsOf(config: unknown, file: string): readonly unknown[] {
  if (Array.isArray(config)) return nonEmpty(config, file);
  if (!isObject(config))
    throw badConfig(`The configuration ${file} is neither an object nor a list. Write { effects: [...] }.`);
  for (const name of Object.keys(config)) {
    if (PROPERTIES.includes(name)) continue;
    const meant = didYouMean(name, PROPERTIES);
    throw badConfig(
      `The configuration ${file} has an unknown property ${name}. ${meant === undefined ? `There is only ${PROPERTIES.join(', ')}.` : `Did you mean ${meant}?`}`,
    );
  }
  const { effects } = config;
  if (!Array.isArray(effects))
    throw badConfig(`In the configuration ${file}, effects is no list. Write { effects: [...] }.`);
  return nonEmpty(effects, file);
}

function nonEmpty(effects: readonly unknown[], file: string): readonly unknown[] {
  if (effects.length === 0)
    throw badConfig(`The configuration ${file} lists no effects, so a relay would have nothing to do.`);
  return effects;
}

function isEffect(value: unknown): boolean {
  const kind = typeof value === 'function' && 'definition' in value ? value.definition : value;
  return isObject(kind) && typeof kind['kind'] === 'string' && typeof kind['perform'] === 'function';
}

/** Says where, never what: the message of JSON.parse repeats the text around the mistake. */
function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined;
    const where = position === undefined ? '' : `, line ${text.slice(0, Number(position)).split('\n').length}`;
    throw badConfig(
      `The configuration ${file} is not valid JSON${where}. Correct it and start again; nothing was executed.`,
    );
  }
}

function unreadable(file: string, error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  return badConfig(`The configuration ${file} cannot be loaded: ${text}. Nothing was executed.`, error);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
