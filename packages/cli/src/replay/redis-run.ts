import type { Store } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import type { NamedPolicy } from "./policies.ts";
import type { PolicyRun } from "./policy-run.ts";
import { unavailable } from "./unavailable.ts";

export interface RedisRunOptions {
  /** Its own on the store. */
  readonly name: string;
  readonly store: Store;
  /** Milliseconds. */
  readonly storeTimeout: number;
}

/** Runs a policy on the library itself, which counts in Redis. What it decides rejects with a `Failure` when Redis does not answer. */
export function runInRedis({ limits }: NamedPolicy, options: RedisRunOptions): PolicyRun {
  const limiter = createLimiter({ ...options, limits, onUnavailable: "deny" });
  const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
  const byClient = dimensions.filter((dimension) => dimension !== "global");
  return {
    async decide(subjects) {
      const decisions = await Promise.all(
        subjects.map((subject) =>
          limiter.consume(Object.fromEntries(byClient.map((dimension) => [dimension, subject]))),
        ),
      );
      if (decisions.some(({ degraded }) => degraded)) throw unavailable();
      return decisions.map(({ allowed, retryAfterMs }) => (allowed ? 0 : retryAfterMs));
    },
    evicted: () => 0,
    close: () => limiter.close(),
  };
}
