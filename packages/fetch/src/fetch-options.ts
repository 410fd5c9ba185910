import type { Cost, Duration, Limiter, LimiterOptions, Subjects } from "@headgate/core";
import type { DialectName } from "./dialects/dialect.ts";

/** A request that waits to be sent. */
export interface OutgoingRequest {
  readonly url: URL;
  /** In upper case. */
  readonly method: string;
  readonly headers: Headers;
  /** The body as it was given: text, a buffer, a form, a stream. Null if there is none; undefined for that of a `Request`. */
  readonly body: unknown;
}

/** Options that `limitFetch` and `limitInterceptor` share. */
export interface OutgoingOptions<Dimension extends string = string>
  extends Partial<LimiterOptions<Dimension>> {
  /** The limiter of the calls. Or give `limits` here, with the other options of `createLimiter`. */
  // biome-ignore lint/suspicious/noExplicitAny: a limiter of any dimensions.
  readonly limiter?: Limiter<any> | undefined;
  /**
   * Whose budget a request spends: a credential, an installation, a shop; or a subject for each dimension. Default: the origin of
   * the URL, as in `https://api.github.com`. What it throws, the call rejects with. Not called if all limits are `per: "global"`.
   */
  readonly key?: ((request: OutgoingRequest) => Key | Promise<Key>) | undefined;
  /** The cost of a request, as in `consume`, or a function that returns it. Default 1. */
  readonly cost?: Cost | ((request: OutgoingRequest) => Cost | Promise<Cost>) | undefined;
  /**
   * The longest that a call waits, in line and before it is sent again, in all: up to 366 days; 0 for no wait. Then it rejects
   * with `HEADGATE_WAIT_TIMEOUT` or, with 0, `HEADGATE_DENIED`; a call that was sent resolves with its last response instead.
   * Default 30 seconds.
   */
  readonly timeout?: Duration | 0 | undefined;
  /**
   * How often a request is sent again: any method after 429, one that is idempotent after 503; 0 to 100. Only if its body can be
   * sent again, which a stream cannot; but the body of a `Request` is kept in memory until its last attempt. Default 3.
   */
  readonly retries?: number | undefined;
  /** The longest cooldown, whatever the provider asks for: 1 ms to 366 days. Default 1 hour. */
  readonly maxCooldown?: Duration | undefined;
  /**
   * The dialects of rate limit headers that are read: their names, none for an empty list. `Retry-After` is always read. Default:
   * all.
   */
  readonly dialects?: readonly DialectName[] | undefined;
}

/** The subject that a request counts for. A number is a subject in decimal digits. */
export type Key = Subjects | number;

/** Options of `limitFetch`. */
export interface LimitFetchOptions<Dimension extends string = string>
  extends OutgoingOptions<Dimension> {
  /**
   * Returns the real cost of a request, once its response is there, or undefined if it does not change. It gets each response, also
   * one after which the request is sent again. To read a body, read that of a clone, and before the first `await`:
   * `async (response) => (await response.clone().json()).usage.total_tokens`. The call does not wait for it.
   */
  readonly settle?:
    | ((response: Response) => Cost | undefined | Promise<Cost | undefined>)
    | undefined;
  /** The function that sends. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** The status and the headers of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Headers;
}

/** Options of `limitInterceptor`. */
export interface LimitInterceptorOptions<Dimension extends string = string>
  extends OutgoingOptions<Dimension> {
  /** Returns the real cost of a request by the head of its response, or undefined if it does not change. */
  readonly settle?:
    | ((response: ResponseHead) => Cost | undefined | Promise<Cost | undefined>)
    | undefined;
}
