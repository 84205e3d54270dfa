/** HTTP effects: `comanda/transports/http`. Needs the package `undici` (7). */
export {
  type ClassificationRow,
  classificationRow,
  classify,
  HTTP_CLASSIFICATION,
  type HttpEvent,
  type Verdict,
} from './classify.js';
export type { Exchange } from './exchange.js';
export { httpEffect } from './http-effect.js';
export type { HttpConditionJson } from './json/condition.js';
export { type HttpEffectFromJsonOptions, httpEffectFromJson } from './json/http-effect-from-json.js';
export type { HttpRequestJson } from './json/request-template.js';
export type { HttpEffectJson, HttpReconcileJson, HttpRetryJson } from './json/types.js';
export { headerText } from './sent-key.js';
export { type HttpTransport, type HttpTransportOptions, httpTransport, type TransportLimits } from './transport.js';
export type {
  HttpEffect,
  HttpEffectDefinition,
  HttpFinding,
  HttpLookup,
  HttpRequest,
  HttpRequestSource,
  HttpResponse,
} from './types.js';
export type { WireRequest } from './wire.js';
