import type { Decision } from "../decision.ts";
import type { Header } from "./headers.ts";
import type { Connection } from "./response/connection-end.ts";
import { isGone } from "./response/connection-end.ts";

/** The answer to a request that does not go on. */
export interface Rejection {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** What an adapter does with a request. */
export type Verdict =
  /** No limiter was asked: the request goes on. */
  | { readonly kind: "pass" }
  /** The client has left, so no answer is needed. */
  | { readonly kind: "left" }
  /** The request goes on. `decision` is the binding one of this request so far; the headers are for its answer. */
  | { readonly kind: "allowed"; readonly decision: Decision; readonly headers: readonly Header[] }
  | {
      readonly kind: "denied";
      readonly decision: Decision;
      readonly headers: readonly Header[];
      readonly rejection: Rejection;
      /** Call it once it is known whether the application lets the request on; missing if it must not. Only the first call counts. */
      readonly conclude?: (passed: boolean) => void;
    }
  /** The request is answered without being counted: it has no key, or its client is blocked. */
  | {
      readonly kind: "refused";
      readonly headers: readonly Header[];
      readonly rejection: Rejection;
    };

export const PASS: Verdict = { kind: "pass" };

export const LEFT: Verdict = { kind: "left" };

/** Who sent a request, read before anything is awaited. */
export interface Client {
  /** The client's address, as the framework's proxy trust gives it. */
  readonly address: string | undefined;
  /** The address at the other end of the connection. */
  readonly peer: string | undefined;
  /** Whether the connection is gone. */
  hasLeft(): boolean;
}

/** The client that sent a request, whose address is `address` for the framework. */
export function clientOf(
  address: string | undefined,
  request: { readonly socket?: Connection | null | undefined },
): Client {
  return {
    address,
    peer: request.socket?.remoteAddress,
    // A request of the Fetch API has no connection that could be gone.
    hasLeft: () => "socket" in request && isGone(request.socket),
  };
}
