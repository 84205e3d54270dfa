export {
  ComandaError,
  type ComandaErrorParts,
  comandaError,
  isComandaError,
} from './comanda-error.js';
export { fromDatabaseError, isRetryableDatabaseError, sqlstateOf } from './database-errors.js';
export { ERRORS, type ErrorCode, type ErrorEntry, type RetryAdvice } from './error-registry.js';
