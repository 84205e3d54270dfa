/** For tests of your own: your effects under faults, conformance suites for adapters and transports, a clock. Independent of any test runner. @packageDocumentation */
export type { Clock, Timer } from '../kernel/clock.js';
export { type AdapterUnderTest, adapterConformance, type ConformanceCheck } from './adapter-conformance.js';
export { exerciseEffect } from './effect/exercise-effect.js';
export type { ExerciseOptions } from './effect/exercise-options.js';
export type { CheckName, EffectReport, Problem, ScenarioResult } from './effect/report.js';
export { createFakeClock, type FakeClock } from './fake-clock.js';
export { type EffectInProcess, effectInProcess, type ProcessOptions } from './process/effect-in-process.js';
export { createProviderDouble, type HttpProviderDouble } from './provider/http-double.js';
export { createMailDouble, type MailDouble } from './provider/mail-double.js';
export type {
  Answer,
  BookEntry,
  Fault,
  FaultAnswer,
  ProviderDouble,
  ProviderDoubleOptions,
  ReceivedRequest,
} from './provider/types.js';
export { type TransportUnderTest, transportConformance } from './transport-conformance.js';
