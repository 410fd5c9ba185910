import type { Decision, MemoryStore } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import type { NamedPolicy } from "./policies.ts";
import type { PolicyRun } from "./policy-run.ts";

/** Runs a policy on the library itself. */
export function runInLibrary({ limits }: NamedPolicy, store: MemoryStore): PolicyRun {
  const limiter = createLimiter({ name: "replay", limits, store });
  const dimensions = new Set(limits.map(({ per = "default" }) => per));
  const isByBoth = dimensions.has("default") && dimensions.has("ip");
  const consume = (subject: string): Promise<Decision> =>
    limiter.consume(isByBoth ? { default: subject, ip: subject } : subject);
  return {
    async decide(subjects) {
      const decisions = await Promise.all(subjects.map(consume));
      return decisions.map(({ allowed, retryAfterMs }) => (allowed ? 0 : retryAfterMs));
    },
    evicted: () => store.evicted,
    close: () => limiter.close(),
  };
}
