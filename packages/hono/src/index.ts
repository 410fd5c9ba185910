/**
 * Rate limiting for Hono on Node, Bun and Deno, as middleware.
 * @packageDocumentation
 */

export type {
  CalendarWindow,
  ChargeResult,
  Decision,
  Duration,
  Limit,
  Limiter,
  LimitState,
  MemoryStore,
  Policy,
  Store,
} from "@headgate/core";
export {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  HeadgateError,
  hotReload,
  memoryStore,
  readPolicy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
export type {
  AddressOption,
  ClientList,
  CountOption,
  CountResult,
  HeaderOptions,
  KeyFunction,
  MissingKey,
  RequestDecision,
} from "@headgate/core/http";
export {
  combineSubjects,
  HeadgateDeniedError,
  subjectOf,
  subjectOfAddress,
  subjectOfHeader,
  toProblem,
  toRateLimitHeaders,
} from "@headgate/core/http";
export type { EndedResponse } from "@headgate/core/internal-http";
export type { OnDenied } from "./on-denied.ts";
export type {
  RateLimit,
  RateLimitOptions,
  TieredRateLimit,
  TieredRateLimitOptions,
} from "./rate-limit.ts";
export { byHeader, byIp, byTier, combineKeys, perRequest, rateLimit } from "./rate-limit.ts";
