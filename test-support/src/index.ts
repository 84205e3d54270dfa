export { type EmbeddedServer, serverUser, startEmbedded } from '@comanda/cli/embedded';
export { type Child, type ChildExit, type ChildOptions, spawnNode, spawnProgram } from './child.js';
export { afterThisTest } from './cleanup.js';
export { createDatabase, type DatabaseOptions, type TestDatabase } from './database.js';
export { type EventuallyOptions, eventually, withDeadline } from './eventually.js';
export { type FreshDatabase, freshDatabase } from './fresh-database.js';
export {
  needPgbouncer,
  type Pgbouncer,
  type PgbouncerOptions,
  pgbouncerAvailable,
  startPgbouncer,
} from './pgbouncer.js';
export * from './providers/index.js';
export { temporaryFolder } from './reaper.js';
export { needService, programPath } from './services.js';
export { databaseUrl, type Queryable, queryable, withClient } from './sql-client.js';
export { type Direction, startTcpProxy, type TcpProxy } from './tcp-proxy.js';
export type { TemplateState } from './vitest-context.js';
