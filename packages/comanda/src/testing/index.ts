/** Conformance suites for those who write adapters, independent of any test runner. @packageDocumentation */
export { type AdapterUnderTest, adapterConformance, type ConformanceCheck } from './adapter-conformance.js';
