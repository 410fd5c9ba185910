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
export { CHANNELS } from "./channels.ts";
export type { Charged } from "./charged.ts";
export type { Cost, CostByName } from "./cost.ts";
export type { Decision, DecisionSource, LimitState } from "./decision.ts";
export type { HeadgateErrorCode } from "./errors.ts";
export { ERROR_CODES, HeadgateError } from "./errors.ts";
export type { Subjects } from "./limiter/counters.ts";
export { createLimiter } from "./limiter/create-limiter.ts";
export { hotReload } from "./limiter/hot-reload.ts";
export type { InUse } from "./limiter/in-use.ts";
export type { LeaseOptions } from "./limiter/leases/leases.ts";
export type {
  AdmittedWork,
  ConsumeOptions,
  CostOptions,
  Limiter,
  LimiterOptions,
  RunOptions,
  WaitForOptions,
} from "./limiter/limiter.ts";
export type {
  DegradedDecision,
  FailureOptions,
  OnUnavailable,
  StoreDown,
  StoreServer,
  StoreUp,
} from "./limiter/outage/outage.ts";
export type { PublishedDecision } from "./limiter/published-decision.ts";
export type { ReportedLimiter } from "./limiter/reported-limiter.ts";
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
} from "./policy.ts";
export type { Clock } from "./store/clock.ts";
export type { MemoryStore, MemoryStoreOptions } from "./store/memory-store.ts";
export { memoryStore } from "./store/memory-store.ts";
export type { Remote, Step, Store } from "./store/store.ts";
export type { Duration } from "./time.ts";
