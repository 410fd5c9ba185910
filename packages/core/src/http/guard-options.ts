import type { Cost } from "../common/cost.ts";
import type { Policy } from "../common/policy.ts";
import type { CheckedDuration, Duration } from "../common/time.ts";
import type { CheckedDurations, FailureOptions } from "../limiter/failure-options.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { Store } from "../store/store.ts";
import type { CountOption } from "./count-option.ts";
import type { HeadersOption } from "./headers.ts";
import type { KeyFunction } from "./keys.ts";
import type { ClientList } from "./lists.ts";
import type { AddressOption } from "./proxy-trust.ts";
import type { RequestPolicy, TierPolicy } from "./request-limits.ts";

/** How long a request that would be denied waits first: 1 ms to 10 minutes, or `false` for no wait. */
export type WaitOption = Duration | false;

/** The durations of a guard's options, where the compiler finds a misspelt literal. `Text` is inferred. */
export interface CheckedGuardTimes<Text extends string> extends CheckedDurations<Text> {
  readonly wait?: CheckedDuration<Text> | false | undefined;
}

/** How to handle a request whose key is undefined or empty: count its address, respond with 400, or leave the limit out. */
export type MissingKey = "ip" | "reject" | "skip";

/** The dimensions that need no key function. */
export type KnownDimension = "default" | "ip" | "global";

/** Without it, a function whose result is no key would pass as an object of keys for no dimension. */
interface NotAFunction {
  readonly [Symbol.hasInstance]?: never;
}

/**
 * The options that all adapters share. `Request` is the framework's request, `Reply` the second argument of `count`, and
 * `OnDenied` the type of that option.
 */
export interface GuardOptions<
  Request,
  Dimension extends string = string,
  Reply = never,
  OnDenied = unknown,
> extends FailureOptions {
  /** The identity of the counters, across processes and deploys. Required with a `store`. */
  readonly name?: string | undefined;
  /** The limits decided together for one request: one, several, `byTier(...)`, or `perRequest(...)`. */
  readonly limits?:
    | Policy<NoInfer<Dimension> | KnownDimension>
    | TierPolicy<Request, NoInfer<Dimension> | KnownDimension>
    | RequestPolicy<Request, NoInfer<Dimension> | KnownDimension>
    | undefined;
  /** A limiter created with `createLimiter`, instead of `limits`, `store` and `name`. */
  readonly limiter?: Limiter | undefined;
  /** Where counts are stored. Default: a separate `memoryStore()`. */
  readonly store?: Store | undefined;
  /** What to count by: a key function, or one for each dimension. Default `byIp()`. */
  readonly key?:
    | KeyFunction<Request>
    | ({ readonly [D in Dimension]: KeyFunction<Request> } & NotAFunction)
    | undefined;
  /** Where the client's address comes from. Default: the framework, according to its proxy trust. */
  readonly address?: AddressOption | undefined;
  /** Clients that are never limited: addresses and networks (CIDR), or a function. */
  readonly allowList?: ClientList<Request> | undefined;
  /** Clients that are refused with status 403, even if they are on `allowList`. */
  readonly denyList?: ClientList<Request> | undefined;
  /** What to do if a key is undefined or empty: count the address (default), respond with 400, or leave that limit out. */
  readonly missingKey?: MissingKey | undefined;
  /**
   * The units a request costs: a whole number of at least 0, or an object of units by limits' names. Limits that are not named
   * cost 1, and 0 leaves a limit out of the decision. A cost of 0 charges nothing, and only a block denies it. Default 1.
   */
  readonly cost?: Cost | ((request: Request) => Cost | Promise<Cost>) | undefined;
  /**
   * Which responses count: `"all"` (default), `"failed"` (status 400 and above), `"succeeded"` (below 400), or a function,
   * called when the response has ended, that returns whether the request counts or how many units it cost. Until then every
   * request is charged, and it stays charged if the response is cut off.
   */
  readonly count?: CountOption<Request, Reply> | undefined;
  /**
   * The dimensions in which `resetClient(request)` deletes the usage of a request's client, for example after a successful login.
   * Not `global`.
   */
  readonly resetDimensions?:
    | readonly (NoInfer<Dimension> | Exclude<KnownDimension, "global">)[]
    | undefined;
  /** Whether a request is exempt from limits. */
  readonly skip?:
    | ((request: Request) => boolean | undefined | Promise<boolean | undefined>)
    | undefined;
  /** Which headers a response carries. Default: legacy and standard. */
  readonly headers?: HeadersOption | undefined;
  /**
   * Responds to denied requests: a function of the framework's kind, or `"error"` for a `HeadgateDeniedError` that the framework
   * handles like any other. Some adapters do not have this option.
   */
  readonly onDenied?: OnDenied | undefined;
  /**
   * How long a request that would be denied waits first, 1 ms to 10 minutes. It waits in a queue with its subject's other requests in
   * this process: at most 100, and no more than half of `maxQueue`. A client that disconnects while it waits costs nothing.
   * Not for limits with `block`. Default `false`.
   */
  readonly wait?: WaitOption | undefined;
  /** The most requests and calls of `limiter.wait` that may wait at once: at least 1. Default 1,000. */
  readonly maxQueue?: number | undefined;
  /**
   * Shadow mode: decides, counts and publishes, but denies no request. It sets neither `rateLimit` nor any header; only
   * `decisionOf` and the channel `headgate:decision` show its decisions. Default false.
   */
  readonly shadow?: boolean | undefined;
}

/** The end of a response, for `count` in a framework whose own response may not exist yet, or may be replaced. */
export interface EndedResponse {
  readonly statusCode: number;
}

/** Options of middleware with one limiter. */
export interface SingleLimiterOptions<Request, Dimension extends string, Reply, OnDenied>
  extends Omit<GuardOptions<Request, Dimension, Reply, OnDenied>, "limits"> {
  /** The limits decided together for one request, or `perRequest(...)`. Required without a `limiter`. */
  readonly limits?:
    | Policy<NoInfer<Dimension> | KnownDimension>
    | RequestPolicy<Request, NoInfer<Dimension> | KnownDimension>
    | undefined;
}

/** Options of middleware with a limiter for each tier. */
export interface TieredLimiterOptions<Request, Dimension extends string, Reply, OnDenied>
  extends Omit<GuardOptions<Request, Dimension, Reply, OnDenied>, "limits"> {
  /** Limits that depend on the request: `byTier(...)`. */
  readonly limits: TierPolicy<Request, NoInfer<Dimension> | KnownDimension>;
}
