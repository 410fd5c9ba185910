/**
 * Limits, limiters and the store in memory. Everything else builds on this.
 * @packageDocumentation
 */

export { concurrency } from "./algorithms/concurrency.ts";
export { fixedWindow } from "./algorithms/fixed-window.ts";
export { gcra } from "./algorithms/gcra.ts";
export { readPolicy } from "./algorithms/read-policy.ts";
export { slidingLog } from "./algorithms/sliding-log.ts";
export { slidingWindow } from "./algorithms/sliding-window.ts";
export { tokenBucket } from "./algorithms/token-bucket.ts";
export { CHANNELS } from "./base/channels.ts";
export type { Charged } from "./base/charged.ts";
export type { Cost, CostByName } from "./base/cost.ts";
export type { Decision, DecisionSource, LimitState } from "./base/decision.ts";
export type { HeadgateErrorCode } from "./base/errors.ts";
export { ERROR_CODES, HeadgateError } from "./base/errors.ts";
export type { Occupancy } from "./base/in-use.ts";
export type {
  CalendarWindow,
  ConcurrencyLimit,
  FixedWindowLimit,
  GcraLimit,
  Limit,
  LimitDescription,
  Policy,
  SlidingLogLimit,
  SlidingWindowLimit,
  TokenBucketLimit,
} from "./base/policy.ts";
export type { Duration } from "./base/time.ts";
export type { Subjects } from "./counting/counters.ts";
export type { OnUnavailable } from "./deciding/fallback.ts";
export type { LeaseOptions } from "./deciding/leases/leases.ts";
export type { DegradedDecision } from "./deciding/link.ts";
export type { ThresholdReached } from "./deciding/thresholds.ts";
export type { KeyFunction, KeyResult } from "./http/keys.ts";
export { byAll } from "./http/keys.ts";
export { createLimiter } from "./limiter/create-limiter.ts";
export type { FailureOptions } from "./limiter/failure-policy.ts";
export { hotReload } from "./limiter/hot-reload.ts";
export type {
  AdmittedWork,
  ChargeOptions,
  ConsumeOptions,
  CostOptions,
  Limiter,
  LimiterOptions,
  PartialOptions,
  RunOptions,
  WaitForOptions,
} from "./limiter/limiter.ts";
export type { PublishedDecision } from "./limiter/published-decision.ts";
export type { StoreDown, StoreServer, StoreUp } from "./reach/outage.ts";
export type { Clock } from "./store/clock.ts";
export type { MemoryStore, MemoryStoreOptions } from "./store/memory-store.ts";
export { memoryStore } from "./store/memory-store.ts";
export type { Store } from "./store/store.ts";
