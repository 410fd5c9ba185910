import type { Decision, Store } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { EXIT, Failure } from "../command/failure.ts";
import type { NamedPolicy } from "./policies.ts";
import type { PolicyRun } from "./policy-run.ts";

/** A replay counts exactly or not at all: it waits longer than an application would, and ends when the store does. */
export const WITHOUT_STORE = { storeTimeout: "5s", onUnavailable: "deny" } as const;

/** Runs a policy on the library itself. `name`: its own on the store. */
export function runInLibrary(
  { limits }: NamedPolicy,
  name: string,
  store: Store,
  evicted: () => number,
): PolicyRun {
  const limiter = createLimiter({ name, limits, store, ...WITHOUT_STORE });
  const dimensions = new Set(limits.map(({ per = "default" }) => per));
  const isByBoth = dimensions.has("default") && dimensions.has("ip");
  const consume = (subject: string): Promise<Decision> =>
    limiter.consume(isByBoth ? { default: subject, ip: subject } : subject);
  return {
    async decide(_requests, subjects) {
      const decisions = subjects.map(consume);
      const waits: number[] = [];
      for (const decision of await Promise.all(decisions)) {
        if (decision.degraded) throw unavailable();
        waits.push(decision.allowed ? 0 : decision.retryAfterMs);
      }
      return waits;
    },
    evicted,
    close: () => limiter.close(),
  };
}

/** A replay without one of its decisions would be another one. */
export function unavailable(): Failure {
  return new Failure("Redis did not answer within 5 s: start again when it does", EXIT.store);
}
