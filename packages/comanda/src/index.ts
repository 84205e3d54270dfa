/** Comanda: decide and execute apart. @packageDocumentation */
export { type DecideOptions, decide, decideMany, decideStandalone, type Refused } from './decide/decide.js';
export { ComandaError, ERRORS, type ErrorCode, isComandaError, isRetryableDatabaseError } from './kernel/errors.js';
export { isRawJson, type RawJson, rawJson } from './kernel/raw-json.js';
export type { Listener, Queryable, Transaction } from './ports/database.js';
export { type EffectDefinition, kindOf } from './ports/effect-definition.js';
export type { EffectKind, Idempotency, PerformContext, Risk } from './ports/effect-kind.js';
export type { KeyCarrier, KeyContract, KeyProfile } from './ports/idempotency.js';
export type { Actor, Decided, Decision, EffectIntent, EffectOptions } from './ports/intent.js';
export type { Completed, Evidence, Failed, Outcome, ReconcileResult, Retry, Unknown } from './ports/outcome.js';
export { profiles } from './ports/profiles.js';
export type { EffectReference, Observer, RelayEvent } from './ports/telemetry.js';
export { defineEffect, type EffectSpec, type StandardSchema } from './relay/define-effect.js';
export { absent, applied, cannotTell, completed, failed, notSent, retry, unknown } from './relay/outcomes.js';
