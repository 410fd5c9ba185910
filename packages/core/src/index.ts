/**
 * Limits, limiters and the store in memory. Everything else builds on this.
 * @packageDocumentation
 */

export { readPolicy } from "./algorithms/compile-policy.ts";
export { concurrency } from "./algorithms/concurrency.ts";
export { fixedWindow } from "./algorithms/fixed-window.ts";
export { gcra } from "./algorithms/gcra.ts";
export { slidingLog } from "./algorithms/sliding-log.ts";
export { slidingWindow } from "./algorithms/sliding-window.ts";
export { tokenBucket } from "./algorithms/token-bucket.ts";
export type { ChargeResult, Cost, CostByName } from "./common/cost.ts";
export type { Decision, DecisionSource, LimitState } from "./common/decision.ts";
export type { HeadgateErrorCode } from "./common/errors.ts";
export { ERROR_CODES, HeadgateError } from "./common/errors.ts";
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
} from "./common/policy.ts";
export type { InUseCount } from "./common/publish.ts";
export { CHANNELS } from "./common/publish.ts";
export type { Duration } from "./common/time.ts";
export type { StoreDown, StoreServer, StoreUp } from "./health/store-monitor.ts";
export type { KeyFunction, KeyResult } from "./http/keys.ts";
export { combineKeys } from "./http/keys.ts";
export { createLimiter } from "./limiter/create-limiter.ts";
export type { FailureOptions } from "./limiter/failure-options.ts";
export type {
  BlockOptions,
  ChargeOptions,
  ConsumeOptions,
  CostOptions,
  Limiter,
  LimiterOptions,
  Meter,
  MeterOptions,
  RunContext,
  RunOptions,
  SubjectOptions,
  UpToOptions,
  WaitOptions,
} from "./limiter/limiter.ts";
export { hotReload } from "./limiter/limiter-instance.ts";
export type { PublishedDecision } from "./limiter/published-decision.ts";
export type { OnUnavailable } from "./pipeline/fallback-stage.ts";
export type { LeaseOptions } from "./pipeline/leases/lease-options.ts";
export type { DegradedDecision } from "./pipeline/stage.ts";
export type { ThresholdReached } from "./pipeline/thresholds.ts";
export type { Subjects } from "./policy/counters.ts";
export type { MemoryStore, MemoryStoreOptions } from "./store/memory-store.ts";
export { memoryStore } from "./store/memory-store.ts";
export type { Clock, Store } from "./store/store.ts";
