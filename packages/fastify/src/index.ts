/**
 * Rate limiting for Fastify 5, as a plugin.
 * @packageDocumentation
 */

import type { FastifyPluginAsync } from "fastify";
import fastifyPlugin from "fastify-plugin";
import "./fastify-augmentation.ts";
import type { HeadgateOptions } from "./options.ts";
import { headgatePlugin } from "./plugin.ts";

export type {
  CalendarWindow,
  Charged,
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
  OwnDecision,
} from "@headgate/core/http";
export {
  byHeader,
  byIp,
  HeadgateDenied,
  subjectOf,
  subjectOfAddress,
  subjectOfAll,
  subjectOfHeader,
  toProblem,
} from "@headgate/core/http";
export { byAll } from "./by-all.ts";
export { byTier } from "./by-tier.ts";
export type { Headgate, RateLimitHook } from "./headgate.ts";
export type { OnDenied } from "./on-denied.ts";
export type { HeadgateOptions, HookName, RouteRateLimitOptions } from "./options.ts";
export { perRequest } from "./per-request.ts";

/**
 * The plugin: `app.register(headgate, { limits: gcra({ limit: 100, window: "1m" }) })`. Registration rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_DUPLICATE_NAME`.
 */
const headgate: FastifyPluginAsync<HeadgateOptions> = fastifyPlugin(headgatePlugin, {
  name: "@headgate/fastify",
  fastify: "5.x",
});

/**
 * Returns the plugin's options unchanged, checked by the compiler: a limit `per` a dimension that `key` does not have is a type error.
 * Fastify's `register` cannot check this; without this function, such a limit is an error when the plugin loads.
 */
export function defineRateLimit<const Dimension extends string = never>(
  options: HeadgateOptions<Dimension>,
): HeadgateOptions {
  return options as HeadgateOptions;
}

export default headgate;
