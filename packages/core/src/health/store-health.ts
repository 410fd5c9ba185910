import type { HeadgateError } from "../common/errors.ts";
import type { OperatorLog } from "../common/operator-log.ts";
import type { CountingStore, Operation } from "../store/store.ts";

/** How long to wait for a store, in milliseconds in which this process runs. */
export interface StoreTimeouts {
  /** For each decision. */
  readonly timeoutMs: number;
  /** For the first answer of a client. */
  readonly connectMs: number;
}

/**
 * Called for a call that may have taken effect after its caller gave up: with its late reply, or undefined if the store could
 * not answer.
 */
export type OnLateReply = (reply: readonly number[] | undefined) => void;

/** Times out calls to a store, and rejects calls to a server that is down. Shared by all limiters of a client. */
export interface StoreMonitor extends StoreTimeouts {
  /** Milliseconds in which this process was running, counted while calls wait. */
  now(): number;
  /**
   * Calls back after this many milliseconds, but not before the end of the longer wait for a first reply. The returned function
   * cancels it.
   */
  giveUpAfter(ms: number, callback: () => void): () => void;
  /**
   * Runs a call on a counter's key in a store of the client. Rejects like the store, and with `HEADGATE_STORE_UNAVAILABLE` if
   * there was no answer in time; `usedTimeoutMs` of that time have passed already.
   *
   * `onLateReply` is called if the call may have taken effect after its caller gave up: with the late reply, or with undefined
   * if the call was sent and the store could not answer. Its errors are dropped.
   */
  run<Call>(
    store: CountingStore,
    operation: Operation<Call>,
    call: Call,
    counterKey: string,
    usedTimeoutMs?: number,
    onLateReply?: OnLateReply,
  ): Promise<readonly number[]>;
  /** Why the server of a counter's key is down; undefined if it is not known to be. */
  downReason(counterKey: string): HeadgateError | undefined;
  /** The log for this client. */
  readonly log: OperatorLog;
  /** Marks the client as in use until the returned function is called; when unused, the monitor stops probing the store. */
  use(): () => void;
}

/** Published on `headgate:store:down`: a server stopped answering. */
export interface StoreDown {
  /** The server of a cluster, as the client names it; empty for a single server. */
  readonly node: string;
  /** The reason: its `code` is `HEADGATE_STORE_UNAVAILABLE`, its `cause` the client's own error, if there was one. */
  readonly reason: HeadgateError;
}

/** Published on `headgate:store:up`: a server answers again. */
export interface StoreUp {
  readonly node: string;
  /** How long it was down, in milliseconds. */
  readonly downMs: number;
  /** The number of calls that were not sent while it was down. */
  readonly rejectedCalls: number;
}

/** Published on `headgate:store:server`: the state of a server. */
export interface StoreServer {
  /** The server of a cluster, as the client names it; empty for a single server. */
  readonly node: string;
  /** One object for each client, `storeTimeout` and `connectTimeout`, because each of these monitors a server separately. */
  readonly monitor: object;
  /** `"unwatched"` if nothing in this process monitors the server any more. */
  readonly state: "up" | "down" | "unwatched";
}
