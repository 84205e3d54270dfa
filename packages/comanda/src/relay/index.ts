/** The relay: executes decided effects, idempotently. @packageDocumentation */
export type { AiActions, Relay, RelayOptions, RelayStatus } from './options.js';
export { createRelay } from './relay.js';
export type { BreakerOptions, TargetLimits } from './target-limits.js';
