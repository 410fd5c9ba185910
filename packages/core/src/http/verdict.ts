import type { Decision } from "../common/decision.ts";

/** A header's name and value; undefined removes it. With the mode `"append"` the value is appended to the response's own. */
export type Header = readonly [name: string, value: string | undefined, mode?: "append"];

/** Which rate limit headers a response carries. */
export interface HeaderOptions {
  /**
   * The numbers of the binding limit, in three headers: `X-RateLimit-Limit`, `-Remaining`, `-Reset` (`true` or `"x-ratelimit"`,
   * default), or `RateLimit-Limit`, `-Remaining`, `-Reset` of draft-ietf-httpapi-ratelimit-headers-06 (`"ratelimit"`).
   */
  readonly legacy?: boolean | LegacyStyle | undefined;
  /**
   * `RateLimit-Policy` and `RateLimit`, draft-ietf-httpapi-ratelimit-headers-11. Default true, but false with `legacy: "ratelimit"`,
   * whose header names they share.
   */
  readonly standard?: boolean | undefined;
  /**
   * The unit of the legacy header `-Reset`: seconds from now (`"delta"`, default), or seconds (`"epoch"`) or milliseconds
   * (`"epoch-ms"`) since the Unix epoch.
   */
  readonly reset?: ResetUnit | undefined;
  /** `Retry-After` on a denial. Default true. */
  readonly retryAfter?: boolean | undefined;
}

/** The names of the legacy headers: `"x-ratelimit"` for `X-RateLimit-Limit` and so on, `"ratelimit"` for `RateLimit-Limit` and so on. */
export type LegacyStyle = "x-ratelimit" | "ratelimit";

/**
 * The unit of the legacy header `-Reset`: seconds from now (`"delta"`), or seconds (`"epoch"`) or milliseconds (`"epoch-ms"`)
 * since the Unix epoch.
 */
export type ResetUnit = "delta" | "epoch" | "epoch-ms";

/** Which headers a response carries; `false` for only `Retry-After`. */
export type HeadersOption = HeaderOptions | boolean;

/** The option `headers` with its defaults. */
export interface HeaderSettings {
  readonly legacy: LegacyStyle | false;
  readonly standard: boolean;
  readonly reset: ResetUnit;
  readonly retryAfter: boolean;
}

/** The parts of a response that depend only on the policy, written once. */
export interface PolicyText {
  /** `RateLimit-Policy` in the form that the guard sends; undefined if the numbers are the request's, or the window's length changes with the calendar. */
  readonly policyHeader: string | undefined;
  /** The names of the limits, quoted, in their order. */
  readonly quotedNames: readonly string[];
}

/** The response to a rejected request. */
export interface Rejection {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Tells an adapter how to handle a request. */
export type Verdict =
  /**
   * The request continues, and there is nothing to show: no limiter was called, it was called by an earlier guard, or it is in
   * shadow mode.
   */
  | { readonly kind: "pass" }
  /** The client has disconnected, so no response is needed. */
  | { readonly kind: "disconnected" }
  /** The request continues. `decision` is the binding one of this request so far; the headers are for its response. */
  | { readonly kind: "allowed"; readonly decision: Decision; readonly headers: readonly Header[] }
  | {
      readonly kind: "denied";
      readonly decision: Decision;
      readonly headers: readonly Header[];
      readonly rejection: Rejection;
      /**
       * Call it once it is known whether the application lets the request through. Missing if it must not. Only the first call
       * counts.
       */
      readonly recordOutcome?: (letThrough: boolean) => void;
    }
  /** The request gets a response without being counted: it has no key, or its client is on a deny list. */
  | {
      readonly kind: "refused";
      readonly headers: readonly Header[];
      readonly rejection: Rejection;
    };

export const PASS: Verdict = { kind: "pass" };

export const DISCONNECTED: Verdict = { kind: "disconnected" };
