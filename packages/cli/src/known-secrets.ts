import type { Environment } from './environment.js';

/** Variables whose values are taken for secrets, by their names. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|PRIVATE|SIGNING|DSN/i;
/** Shorter values are words: masking them by value would eat half of any line. */
const SECRET_MIN_LENGTH = 8;
const PASSWORD_IN_URL = /^[a-z][a-z\d+.-]*:\/\/[^\s/:@]*:([^\s/@]+)@/i;

/** Values that must not stand in a log, and what reads the environment on their behalf. */
export interface KnownSecrets {
  /** The same environment; what is read through it is a secret from then on. */
  readonly env: Environment;
  values(): string[];
}

/**
 * Collects what a log must not repeat: passwords of URLs, variables that are called like secrets, and every variable that a
 * configuration names (`${env:NAME}`), whatever it is called.
 */
export function knownSecrets(env: Environment, urls: readonly string[]): KnownSecrets {
  const read = new Set<string>();
  const named = Object.entries(env).flatMap(([name, value = '']) =>
    SECRET_NAME.test(name) && value.length >= SECRET_MIN_LENGTH ? [value] : [],
  );
  const passwords = [...urls, ...Object.values(env)].flatMap((value) => passwordsOf(value ?? ''));
  return {
    env: new Proxy(env, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === 'string') read.add(value);
        return value;
      },
    }),
    values: () => [...new Set([...urls, ...named, ...passwords, ...read].filter((value) => value !== ''))],
  };
}

function passwordsOf(url: string): string[] {
  const [, password] = PASSWORD_IN_URL.exec(url) ?? [];
  if (password === undefined) return [];
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}
