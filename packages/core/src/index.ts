export { fixedWindow } from "./algorithms/fixed-window.ts";
export { gcra } from "./algorithms/gcra.ts";
export { slidingLog } from "./algorithms/sliding-log.ts";
export { slidingWindow } from "./algorithms/sliding-window.ts";
export { tokenBucket } from "./algorithms/token-bucket.ts";
export type { Decision, DecisionSource, LimitState } from "./decision.ts";
export type { HeadgateErrorCode } from "./errors.ts";
export { ERROR_CODES, HeadgateError } from "./errors.ts";
export type { Subjects } from "./limiter/counters.ts";
export type { CostOptions, Limiter, LimiterOptions, WaitForOptions } from "./limiter/limiter.ts";
export { createLimiter } from "./limiter/limiter.ts";
export type {
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
export type { MemoryStoreOptions } from "./store/memory-store.ts";
export { memoryStore } from "./store/memory-store.ts";
export type { Step, Store } from "./store/store.ts";
export type { Duration } from "./time.ts";
