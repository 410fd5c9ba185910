import type { GuardOptions } from "@headgate/core/http";
import type { EndedResponse } from "@headgate/core/internal-http";
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
