/**
 * One budget for the calls that a fleet sends to an API: a `fetch`, and an interceptor for undici.
 * @packageDocumentation
 */

export type { CallRetry, Cooldown } from "./channels.ts";
export { FETCH_CHANNELS } from "./channels.ts";
export type { DialectName } from "./dialects/dialect.ts";
export type {
  Key,
  LimitFetchOptions,
  LimitInterceptorOptions,
  OutgoingOptions,
  OutgoingRequest,
  ResponseHead,
} from "./fetch-options.ts";
export type { LimitedFetch } from "./limit-fetch.ts";
export { limitFetch } from "./limit-fetch.ts";
export type { LimitInterceptor } from "./limit-interceptor.ts";
export { limitInterceptor } from "./limit-interceptor.ts";
