import type { Decision, Store } from "@headgate/core";
import { createLimiter, HeadgateError } from "@headgate/core";
import type { LogEntry } from "../log/log-entry.ts";
import type { ReplayPolicy } from "./policies.ts";

/** The decision of one request: an allowed one, or a denied one with its wait. */
export type ReplayDecision = Pick<Decision, "allowed" | "retryAfterMs">;

/** A policy that decides the requests of a log. */
export interface PolicyRun {
  /**
   * Decides requests that have the same time, in their order. `subjects` has the subject of each request. Resolves with the decision of
   * each.
   */
  decide(
    subjects: readonly string[],
    requests: readonly LogEntry[],
  ): Promise<readonly ReplayDecision[]>;
  /** The number of evictions of subjects that still counted. */
  evicted(): number;
  close(): Promise<void>;
}

export interface PolicyRunOptions {
  /** The name of the limiter, which must be unique on the store. */
  readonly name: string;
  readonly store: Store;
  /** Milliseconds. */
  readonly storeTimeout: number;
  readonly evicted: () => number;
}

/** A framework whose adapter a replay can use. */
export type Framework = "fastify" | "express";

/** Runs a policy with direct calls of the library. `decide` rejects with `HEADGATE_STORE_UNAVAILABLE` if the store does not answer. */
export function runInLibrary(
  { limits }: ReplayPolicy,
  { evicted, ...options }: PolicyRunOptions,
): PolicyRun {
  const limiter = createLimiter({ ...options, limits, onUnavailable: "deny" });
  const dimensions = new Set(limits.map(({ per = "default" }) => per));
  const isByBoth = dimensions.has("default") && dimensions.has("ip");
  const consume = (subject: string): Promise<Decision> =>
    limiter.consume(isByBoth ? { default: subject, ip: subject } : subject);
  return {
    async decide(subjects) {
      const decisions = await Promise.all(subjects.map(consume));
      if (decisions.some(({ degraded }) => degraded)) throw storeUnavailableError();
      return decisions;
    },
    evicted,
    close: () => limiter.close(),
  };
}

/** The error that ends a replay, because its counts would be wrong without a decision. */
export function storeUnavailableError(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_STORE_UNAVAILABLE",
    "Redis stopped answering, so the counts would be wrong: start the replay again when Redis is available",
  );
}
