/**
 * Rate limiting for Fastify 5, as a plugin.
 * @packageDocumentation
 */
import type { CheckedGuardTimes } from "@headgate/core/internal-http";
import type { HeadgateOptions } from "./options.ts";

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
export type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
export { byTier, combineKeys, perRequest } from "./options.ts";
export { headgate as default } from "./plugin.ts";
export type { Headgate, RateLimitHook } from "./plugin-rules.ts";

/**
 * Returns the plugin's options unchanged, checked by the compiler: a limit `per` a dimension that `key` does not have is a type error, and so is a misspelt duration.
 * Fastify's `register` cannot check this; without this function, such a limit is an error when the plugin loads.
 */
export function defineRateLimit<
  const Dimension extends string = never,
  const Text extends string = string,
>(options: HeadgateOptions<Dimension> & CheckedGuardTimes<Text>): HeadgateOptions {
  return options as HeadgateOptions;
}
