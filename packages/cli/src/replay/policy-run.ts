import type { Decision, MemoryStore, Store } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { CommandError, EXIT } from "../command/command-error.ts";
import type { LoggedRequest } from "../log/logged-request.ts";
import type { NamedPolicy } from "./policies.ts";

/** A policy at work on a log. */
export interface PolicyRun {
  /**
   * Decides requests of one moment, in their order; `subjects` has for each the subject that it counts as. For each: how many
   * milliseconds its client has to wait, 0 where it was admitted.
   */
  decide(
    subjects: readonly string[],
    requests: readonly LoggedRequest[],
  ): Promise<readonly number[]>;
  /** Subjects that memory had to forget although they counted. */
  evicted(): number;
  close(): Promise<void>;
}

export interface PolicyRunOptions {
  /** The name of the limiter; unique on the store. */
  readonly name: string;
  readonly store: Store;
  /** Milliseconds. */
  readonly storeTimeout?: number;
  readonly evicted: () => number;
}

/** Runs a policy on the library itself. `decide` rejects with a `CommandError` when the store does not answer. */
export function runInLibrary(
  { limits }: NamedPolicy,
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
      return decisions.map(({ allowed, retryAfterMs }) => (allowed ? 0 : retryAfterMs));
    },
    evicted,
    close: () => limiter.close(),
  };
}

/** Runs a policy on a store of this process. */
export function runInMemory(policy: NamedPolicy, store: MemoryStore): PolicyRun {
  return runInLibrary(policy, { name: "replay", store, evicted: () => store.evictions });
}

/** A replay without one of its decisions would be another one. */
export function storeUnavailableError(): CommandError {
  return new CommandError(
    "Redis stopped answering, and a replay counts all or nothing: start it again when Redis is back",
    EXIT.store,
  );
}
