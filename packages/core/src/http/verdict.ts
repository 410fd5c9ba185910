import type { Decision } from "../common/decision.ts";
import type { Header } from "./headers.ts";

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
