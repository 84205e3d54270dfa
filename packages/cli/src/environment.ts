import { usage } from './failure.js';

/** The environment as it was when the process started. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What `pg` and `pgpass` read by themselves. */
const READ_BY_PG = [
  'PGHOST',
  'PGPORT',
  'PGUSER',
  'PGPASSWORD',
  'PGDATABASE',
  'PGOPTIONS',
  'PGBINARY',
  'PGREPLICATION',
  'PGCLIENT_ENCODING',
  'PGAPPNAME',
  'PGSSLMODE',
  'PGSSLNEGOTIATION',
  'PGCONNECT_TIMEOUT',
  'PGPASSFILE',
  'PGPASS_NO_DEESCAPE',
  'NODE_PG_FORCE_NATIVE',
];

/**
 * Takes a copy of the environment and removes the variables by which the driver would complete a connection on its own: a
 * database is used because somebody named it, never because a variable of the shell happens to be set. Call before `pg` is loaded.
 */
export function takeEnvironment(env: NodeJS.ProcessEnv): Environment {
  const taken = { ...env };
  for (const name of READ_BY_PG) delete env[name];
  return taken;
}

/** The name of the environment: that of the flag, else of COMANDA_ENVIRONMENT; `undefined` when nobody names one. */
export function environmentName(flag: string | undefined, env: Environment): string | undefined {
  const name = flag ?? env['COMANDA_ENVIRONMENT'];
  if (name === undefined || name === '') return undefined;
  if (!/^[^\s@\p{Cc}]{1,128}$/u.test(name) || name === 'unset')
    throw usage('The name of the environment must have 1 to 128 characters, without spaces and @, e.g. production.');
  return name;
}

/**
 * What AI_ACTIONS_ENABLED says, read strictly: `true` and `false` and nothing else. `unset` stands for everything else; `remark` says what the
 * relay makes of it. The value itself is never shown: a secret may have slipped in.
 */
export function readAiActions(env: Environment): {
  readonly value: 'enabled' | 'unset' | 'disabled';
  readonly remark: string;
} {
  const text = env['AI_ACTIONS_ENABLED'];
  if (text === 'true')
    return { value: 'enabled', remark: 'AI_ACTIONS_ENABLED is true: effects decided by agents may leave' };
  if (text === 'false') {
    return {
      value: 'disabled',
      remark: 'AI_ACTIONS_ENABLED is false: effects decided by agents, or by nobody in particular, are held',
    };
  }
  const state = text === undefined ? 'is not set' : 'is neither true nor false';
  return { value: 'unset', remark: `AI_ACTIONS_ENABLED ${state}: effects decided by agents are held` };
}
