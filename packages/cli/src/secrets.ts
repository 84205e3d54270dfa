import type { Environment } from './environment.js';
import { badConfig } from './failure.js';

const REFERENCE = /\$\{env:([^}]*)\}/g;

/**
 * Puts variables of the environment into the texts of a JSON configuration: `"Bearer ${env:STRIPE_KEY}"`. So that secrets stay out of files.
 *
 * @throws CliError that names a variable that is not set
 */
export function withSecrets(value: unknown, env: Environment): unknown {
  if (typeof value === 'string') return value.replace(REFERENCE, (_, name: string) => secret(name, env));
  if (Array.isArray(value)) return value.map((item) => withSecrets(item, env));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withSecrets(item, env)]));
}

function secret(name: string, env: Environment): string {
  const value = env[name];
  if (value === undefined || value === '') {
    throw badConfig(
      `The configuration names the variable ${name}, which is not set. Set it, or remove \${env:${name}}.`,
    );
  }
  return value;
}
