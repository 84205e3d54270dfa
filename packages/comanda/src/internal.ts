/** The second door: for the command line and for tests. No promise of stability. @packageDocumentation */
export { type Clock, systemClock } from './kernel/clock.js';
export { describeThrown } from './kernel/describe-thrown.js';
export { didYouMean } from './kernel/did-you-mean.js';
export { type Duration, formatDuration, parseDuration } from './kernel/durations.js';
export { comandaError, fromDatabaseError, isRetryableDatabaseError, sqlstateOf } from './kernel/errors.js';
export { redactText } from './kernel/redact.js';
export { checkSchemaName, DEFAULT_SCHEMA, inSchema, quoteIdentifier } from './kernel/schema-name.js';
export { EFFECT_STATES } from './kernel/states.js';
export { age, ahead, count, duration, moment, quoted, sentence, shellWord, shortRelay } from './observe/phrases.js';
export { createReader, type EffectFile, type EffectFilter, type Reader } from './observe/read.js';
export { type NearKey, nearKeys, readStory } from './observe/read-story.js';
export type * from './observe/rows.js';
export { buildStory, type EffectStory, type Story, type StorySource } from './observe/story.js';
export type { StoryEvent } from './observe/story-events.js';
export type { Advice } from './observe/story-outlook.js';
export { type MigrateOptions, type MigrateResult, migrate, migrationScript } from './schema/migrate.js';
export { checkVersion, type Installed, readInstalled, SCHEMA_VERSION } from './schema/version.js';
