/**
 * A circuit breaker that all processes share: it counts the calls to an upstream, and stops them while too many fail.
 * @packageDocumentation
 */

export type {
  Breaker,
  CallContext,
  FallbackContext,
  Permit,
  RunOptions,
  Target,
} from "./breaker.ts";
export { HeadgateBreakerOpenError } from "./breaker.ts";
export type { BreakerOptions, IsFailure } from "./breaker-options.ts";
export type {
  BreakerCall,
  BreakerSnapshot,
  BreakerStateChange,
  DegradedBreaker,
  Outcome,
  RejectedCall,
  Snapshot,
} from "./channels.ts";
export { BREAKER_CHANNELS } from "./channels.ts";
export { createBreaker } from "./create-breaker.ts";
export type { ExponentialBackoffOptions } from "./exponential-backoff.ts";
export { exponentialBackoff } from "./exponential-backoff.ts";
export type { BreakerState } from "./machine/period.ts";
