/**
 * Rate limiting for NestJS 10 to 12, on Express and on Fastify: a module, a guard and decorators.
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
export type { ContextCost } from "./decorators.ts";
export { RateLimitCost, SkipRateLimit } from "./decorators.ts";
export { HeadgateGuard, HeadgateModule } from "./headgate-module.ts";
export type { OnDenied } from "./on-denied.ts";
export type {
  HeadgateAsyncOptions,
  HeadgateOptionsFactory,
  RateLimitOptions,
} from "./options.ts";
export { byHeader, byIp, byTier, combineKeys, perRequest } from "./options.ts";
export { RateLimit } from "./rate-limit.ts";
export { RateLimitException, RateLimitFilter } from "./rate-limit-exception.ts";
