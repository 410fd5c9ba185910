import type { GuardOptions } from "@headgate/core/http";
import * as http from "@headgate/core/http";
import type { EndedResponse, PolicyFunctions } from "@headgate/core/internal-http";
import type { ExecutionContext, ModuleMetadata, Type } from "@nestjs/common";
import type { OnDenied } from "./on-denied.ts";

/**
 * Options of `HeadgateModule` and of `@RateLimit`. Functions among them get Nest's `ExecutionContext`, and `count` also
 * `{ statusCode }`.
 */
export type RateLimitOptions<Dimension extends string = string> = GuardOptions<
  ExecutionContext,
  Dimension,
  EndedResponse,
  OnDenied | "error"
>;

/** Creates options in a class of the application. */
export interface HeadgateOptionsFactory {
  /** Returns the options of the module, or a promise of them. Called once, when the application starts. */
  createHeadgateOptions(): RateLimitOptions | Promise<RateLimitOptions>;
}

/** Options of `HeadgateModule.forRootAsync`: one of the three ways to get those of the module. */
export interface HeadgateAsyncOptions extends Pick<ModuleMetadata, "imports"> {
  readonly useFactory?: (...args: never[]) => RateLimitOptions | Promise<RateLimitOptions>;
  /** The tokens of the arguments of `useFactory`. */
  readonly inject?: readonly unknown[];
  readonly useClass?: Type<HeadgateOptionsFactory>;
  readonly useExisting?: Type<HeadgateOptionsFactory>;
}

type Functions = PolicyFunctions<ExecutionContext>;

/** Counts by client address, as the platform's proxy trust gives it. */
export const byIp: Functions["byIp"] = http.byIp as never;

/** Counts by the hashed value of a request header. */
export const byHeader: Functions["byHeader"] = http.byHeader as never;

/** Counts by several keys together: `combineKeys(byIp(), (context) => emailOf(context))`. */
export const combineKeys: Functions["combineKeys"] = http.combineKeys as never;

/** Chooses the limits by a request's tier: `byTier({ free: ..., premium: ... }, (context) => planOf(context))`. */
export const byTier: Functions["byTier"] = http.byTier;

/** Takes limits from the request: `perRequest(gcra({ limit: 30, window: "1m" }), (context) => limitsFor(context))`. */
export const perRequest: Functions["perRequest"] = http.perRequest;
