export { ComandaError, comandaError, isComandaError } from './comanda-error.js';
export { fromDatabaseError, isRetryableDatabaseError, sqlstateOf } from './database-errors.js';
export { ERRORS, type ErrorCode, type ErrorEntry } from './error-registry.js';
