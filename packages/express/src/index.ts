import "./request-augmentation.ts";

export type { Decision, Duration, Limit, Limiter, LimitState, Policy, Store } from "@headgate/core";
export {
  createLimiter,
  fixedWindow,
  gcra,
  HeadgateError,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
export type { HeaderOptions, KeyFunction, MissingKey } from "@headgate/core/http";
export { byHeader, byIp, HeadgateDenied, subjectOf, toProblem } from "@headgate/core/http";
export { byTier } from "./by-tier.ts";
export type {
  OnDenied,
  RateLimit,
  RateLimitOptions,
  TieredRateLimit,
  TieredRateLimitOptions,
} from "./rate-limit.ts";
export { rateLimit } from "./rate-limit.ts";
