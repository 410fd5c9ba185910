import type { Policy } from "@headgate/core";
import type {
  CountOption,
  GuardOptions,
  KnownDimension,
  RequestPolicy,
  TierPolicy,
} from "@headgate/core/http";
import type { ExecutionContext, ModuleMetadata, Type } from "@nestjs/common";
import type { OnDenied } from "./on-denied.ts";

/** The end of a response, for `count`. */
export interface EndedResponse {
  readonly statusCode: number;
}

/** Options of `HeadgateModule` and of `@RateLimit`. Functions among them get Nest's `ExecutionContext`. */
export interface RateLimitOptions<Dimension extends string = string>
  extends Omit<GuardOptions<ExecutionContext, Dimension>, "limits"> {
  /** The limits decided together: one, several, `byTier(...)`, or `perRequest(...)`. */
  readonly limits?:
    | Policy<NoInfer<Dimension> | KnownDimension>
    | TierPolicy<ExecutionContext, NoInfer<Dimension> | KnownDimension>
    | RequestPolicy<ExecutionContext, NoInfer<Dimension> | KnownDimension>
    | undefined;
  /** Handles denials; `"error"` throws a `HeadgateDeniedError` to the exception filters. */
  readonly onDenied?: OnDenied | "error" | undefined;
  /** Which responses count; a function gets `(context, { statusCode })` when the response has been ended. */
  readonly count?: CountOption<ExecutionContext, EndedResponse> | undefined;
}

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
