/** When asking again can help: never as it is, at once (in a new transaction), or after something outside has changed. */
export type RetryAdvice = 'never' | 'now' | 'later';

/** One entry of the error registry. */
export interface ErrorEntry {
  /** The SQLSTATE by which the database raises this error; absent for errors that only TypeScript can raise. */
  readonly sqlstate?: string;
  readonly retry: RetryAdvice;
  /** What happened and why it matters. `{name}` is replaced by the value of that name. */
  readonly summary: string;
  /** What the reader can do about it. */
  readonly whatToDo: string;
}

/**
 * Every error of Comanda. Codes are never reused; SQLSTATEs of our own have class `CM` and map one to one.
 */
export const ERRORS = {
  COMANDA_KEY_CONFLICT: {
    sqlstate: 'CM001',
    retry: 'never',
    summary: 'The key {key} already belongs to a decision with other content, so this one was not recorded.',
    whatToDo: 'Use a key that names this operation and no other; a correction is a new decision under its own key.',
  },
  COMANDA_INVALID_DECISION: {
    sqlstate: 'CM002',
    retry: 'never',
    summary: 'The decision does not have the expected shape: {path} {reason}.',
    whatToDo: 'Correct the named property; nothing was written.',
  },
  COMANDA_INVALID_PAYLOAD: {
    sqlstate: 'CM003',
    retry: 'never',
    summary: 'The payload cannot be stored as JSON: {path} {reason}.',
    whatToDo: 'Correct the value at that path; nothing was sent to the database.',
  },
  COMANDA_TOO_LARGE: {
    sqlstate: 'CM004',
    retry: 'never',
    summary: '{what} is {actual} bytes long, more than the {limit} allowed.',
    whatToDo: 'Store the large part elsewhere and put a reference into the payload.',
  },
  COMANDA_TOO_MANY_LANES: {
    sqlstate: 'CM005',
    retry: 'never',
    summary: 'The transaction touches more than {limit} ordering keys, so their order cannot be taken in one commit.',
    whatToDo: 'Split the work into several transactions.',
  },
  COMANDA_EXPLICIT_KEY_TAKEN: {
    sqlstate: 'CM006',
    retry: 'never',
    summary: 'The idempotency key {key} already belongs to another effect.',
    whatToDo: 'Leave the key out (it is then derived from the decision), or choose one that names this effect only.',
  },
  COMANDA_NOT_FOUND: {
    sqlstate: 'CM007',
    retry: 'never',
    summary: 'Nothing is known under {what}.',
    whatToDo: 'Check the identifier, the schema and the database you are connected to.',
  },
  COMANDA_READ_ONLY_VIEW: {
    sqlstate: 'CM008',
    retry: 'never',
    summary: 'The view {view} cannot be written to.',
    whatToDo: 'Call the function that the hint names; it keeps the state and its history together.',
  },
  COMANDA_INVALID_REQUEST: {
    sqlstate: 'CM009',
    retry: 'never',
    summary: 'The request to {what} is not valid: {reason}.',
    whatToDo: 'Compare the call with the reference of the SQL functions.',
  },
  COMANDA_SCHEMA_VERSION: {
    sqlstate: 'CM010',
    retry: 'later',
    summary: 'Program and schema do not fit: {problem}.',
    whatToDo: 'Run the migrations of the newer of the two, then start again.',
  },
  COMANDA_SWITCH_INVALID: {
    sqlstate: 'CM011',
    retry: 'never',
    summary: 'The switch was not changed: {reason}.',
    whatToDo: 'Name a known scope and one of the modes run, hold, drain and stop, with a reason and an actor.',
  },
  COMANDA_NOT_ADOPTED: {
    sqlstate: 'CM012',
    retry: 'later',
    summary: 'This database is not the installation that was adopted, so no effect leaves from it: {reason}.',
    whatToDo: 'If it is a copy, leave it so. If it is the real one, a person runs the command that adopts it.',
  },
  COMANDA_ACTOR_REQUIRED: {
    sqlstate: 'CM013',
    retry: 'never',
    summary: '{what} needs an actor, so that the record says who did it.',
    whatToDo: 'Pass actor with its type (human, agent or system) and id.',
  },
  COMANDA_NOT_IN_TRANSACTION: {
    retry: 'never',
    summary: 'The database handle is not inside an open transaction, so decision and state change could part.',
    whatToDo: 'Pass the handle of your transaction, or ask for a stand-alone decision by name.',
  },
  COMANDA_INVALID_CONFIG: {
    retry: 'never',
    summary: 'The configuration is not valid: {problem}.',
    whatToDo: 'Correct it and start again; nothing was executed.',
  },
  COMANDA_UNSAFE_EFFECT: {
    retry: 'never',
    summary: 'The effect kind {kind} was refused: {problem}.',
    whatToDo: "Give the kind a key, a reconcile function, or say onUnknown: 'ask-human'.",
  },
  COMANDA_SCHEMA_MISSING: {
    retry: 'later',
    summary: 'The database does not have the Comanda schema, or only a part of it.',
    whatToDo: 'Run the migrations against this database, or correct the schema name.',
  },
  COMANDA_ROWS_HIDDEN: {
    retry: 'later',
    summary: 'Row-level security hides rows of Comanda’s own tables: {tables}.',
    whatToDo: 'Turn it off for them: alter table … disable row level security, no force row level security.',
  },
  COMANDA_RETRYABLE: {
    retry: 'now',
    summary: 'The database asked for the transaction to be repeated (SQLSTATE {sqlstate}).',
    whatToDo: 'Roll back and run the whole transaction again; the same keys give the same decisions.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** A code of the registry, e.g. `COMANDA_KEY_CONFLICT`. */
export type ErrorCode = keyof typeof ERRORS;
