import type { Charged } from "../../charged.ts";
import type { Cost } from "../../cost.ts";
import type { Decision } from "../../decision.ts";
import type { HeadgateError, HeadgateErrorCode } from "../../errors.ts";
import type { Counter } from "../../store/counter.ts";
import type { DecideMode } from "../../store/decide-call.ts";
import type { Judgement } from "../../store/judge.ts";
import type { Receipt } from "../../store/refund.ts";
import type { Step, Store } from "../../store/store.ts";
import type { Duration } from "../../time.ts";
import type { SubjectCounter } from "../counters.ts";
import type { LeaseOptions, LeaseRule } from "../leases/leases.ts";

/** How a limiter spares its store, and what it does when the store cannot answer. No effect with `memoryStore`, which always answers. */
export interface FailureOptions {
  /** The longest wait for the store, for each decision, in time that this process runs: 1 ms to 1 minute. Default 100 ms. */
  readonly storeTimeout?: Duration | undefined;
  /**
   * The longest wait for the first answer of a client, which has to connect before it, counted from the client's first use: 1 ms to
   * 1 minute, or 0 to wait no longer than `storeTimeout`. The client's own connection error ends it. Default 1 s.
   */
  readonly connectTimeout?: Duration | 0 | undefined;
  /**
   * What decides when the store cannot answer: the same limits counted in this process (`"local"`, default); nothing, so that every
   * request is admitted (`"allow"`); or nothing, so that every request is denied (`"deny"`; in HTTP with status 503).
   */
  readonly onUnavailable?: OnUnavailable | undefined;
  /**
   * With `"local"`, the share of each limit that this process admits by itself: above 0, up to 1; rounded down, at least one
   * unit. Default 1. With n processes, 1 / n keeps the limit that they share.
   */
  readonly localShare?: number | undefined;
  /** Whether denials are remembered for up to a second, so that a subject that keeps asking costs no call. Default true. */
  readonly denyCache?: boolean | undefined;
  /**
   * Lets a process take several units at once for a busy subject, up to `max` for up to `ttl`, and spend
   * them without a call. For limits of one dimension, in a limiter that extends no other. Default: off. See `docs/understand/leases.md`.
   */
  readonly lease?: LeaseOptions | false | undefined;
}

/** What decides when the store cannot answer: this process by itself, or nothing, so that all are admitted or all denied. */
export type OnUnavailable = "local" | "allow" | "deny";

/** How long a store is waited for, in milliseconds in which this process runs. */
export interface StoreTimes {
  /** For each decision. */
  readonly timeoutMs: number;
  /** For the first answer of a client. */
  readonly connectMs: number;
}

/** The options with their defaults. */
export interface FailurePolicy extends StoreTimes {
  readonly onUnavailable: OnUnavailable;
  readonly localShare: number;
  readonly denyCache: boolean;
  readonly lease: LeaseRule | undefined;
}

/** Hears of a call that may have been done in vain: its late reply, or undefined if the store could not answer. */
export type Late = (reply: readonly number[] | undefined) => void;

/** Waits for a store no longer than a time, and not at all for a server that is down. Shared by all limiters of a client. */
export interface StoreWatch extends StoreTimes {
  /** Milliseconds in which this process was running, while something is waited for. */
  now(): number;
  /** Calls back when so many of them have passed, and no first answer is waited for, until the returned function is called. */
  giveUpAfter(ms: number, callback: () => void): () => void;
  /**
   * Runs a call on a counter's key in a store of the client. Rejects as the store does, and with `HEADGATE_STORE_UNAVAILABLE`
   * when there was no answer in time, of which `waitedMs` are over already.
   *
   * `late` is called if the call may have been done in vain: with its reply, if that came after the wait was given up; with
   * undefined, if the call was sent and the store could not answer. Its errors are dropped.
   */
  run<Call>(
    store: Store,
    step: Step<Call>,
    call: Call,
    counterKey: string,
    waitedMs?: number,
    late?: Late,
  ): Promise<readonly number[]>;
  /** Why the server of a counter's key is known to be down; undefined if it is not. */
  downReason(counterKey: string): HeadgateError | undefined;
  /** What is logged about this client. */
  readonly notices: Notices;
  /** Notes that it is used, until the returned function is called; when unused, it stops trying to reach the store. */
  use(): () => void;
}

/** Published on `headgate:store:down`: a server stopped answering. */
export interface StoreDown {
  /** The server of a cluster, as the client names it; empty for a single server. */
  readonly node: string;
  /** Why: its `code` is `HEADGATE_STORE_UNAVAILABLE`, its `cause` the client's own error, if there was one. */
  readonly reason: HeadgateError;
}

/** Published on `headgate:store:up`: a server answers again. */
export interface StoreUp {
  readonly node: string;
  /** How long it was down, in milliseconds. */
  readonly downMs: number;
  /** How many calls were not sent while it was down. */
  readonly refused: number;
}

/** Published on `headgate:store:server`: the state of a server. */
export interface StoreServer {
  /** The server of a cluster, as the client names it; empty for a single server. */
  readonly node: string;
  /** One object for each client, `storeTimeout` and `connectTimeout`, because each of these watches a server by itself. */
  readonly watch: object;
  /** `"unwatched"` if nothing in this process watches the server any more. */
  readonly state: "up" | "down" | "unwatched";
}

/** What is logged for the operator: as process warnings, or in the logs that were added. */
export interface Notices {
  readonly log: Log;
  /** Logs an error that does not go away by waiting, and its consequence; the same words at most once an hour. */
  logOnce(error: HeadgateError, consequence?: string): void;
  /** Writes to `log` instead of process warnings, until the returned function is called. */
  addLog(log: Log): () => void;
}

/** Logs something for the operator. */
export type Log = (code: HeadgateErrorCode, message: string, error?: Error) => void;

/** Gives back, blocks or forgets counters on servers. Each method resolves with whether there was anything to do, and rejects with the store's errors. */
export interface StoreReturns {
  refund(receipts: readonly Receipt[]): Promise<boolean>;
  /** Counts the kept units of charges; true if that set a block. */
  judge(judgements: readonly Judgement[]): Promise<boolean>;
  forget(counters: readonly Counter[]): Promise<boolean>;
  /** For so many microseconds, or not any longer with 0. */
  block(counters: readonly Counter[], span: number): Promise<boolean>;
}

/** Charges counters on servers, whatever is left of their limits. */
export interface StoreCharges {
  /** Those that the store does not get, because it is away, are charged `otherwise`. Rejects as the store does. */
  charge<C extends Counter>(
    counters: readonly C[],
    cost: number,
    otherwise: (counters: readonly C[]) => Promise<Charged<Cost>>,
  ): Promise<Charged<Cost>>;
}

/** Decides what the store could not, as `onUnavailable` says. */
export interface WithoutStore {
  decide(counters: readonly SubjectCounter[], cost: number, mode: DecideMode): Promise<Decision>;
  giveBack(receipts: readonly Receipt[]): Promise<boolean>;
  charge(counters: readonly SubjectCounter[], cost: number): Promise<Charged<Cost>>;
  /** Settles what was charged here. */
  settle(receipts: readonly Receipt[], units: Cost): Promise<Charged<Cost>>;
  forget(counters: readonly SubjectCounter[]): Promise<boolean>;
}

/** Published on `headgate:decision:degraded`. */
export interface DegradedDecision {
  /** The limiter's name. */
  readonly limiter: string;
  readonly decision: Decision;
  /** Why the store did not decide, known by its `code`. */
  readonly reason: HeadgateError;
}
