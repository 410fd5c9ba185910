/**
 * Rate limiting for Express 4 and 5, as middleware.
 * @packageDocumentation
 */
import "./request-decoration.ts";

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
  byHeader,
  byIp,
  combineSubjects,
  HeadgateDeniedError,
  subjectOf,
  subjectOfAddress,
  subjectOfHeader,
  toProblem,
  toRateLimitHeaders,
} from "@headgate/core/http";
export type { OnDenied } from "./on-denied.ts";
export type {
  RateLimit,
  RateLimitOptions,
  TieredRateLimit,
  TieredRateLimitOptions,
} from "./rate-limit.ts";
export { byTier, combineKeys, perRequest, rateLimit } from "./rate-limit.ts";
