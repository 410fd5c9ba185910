import type { Store } from "@headgate/core";
import type { CountingStore } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { runningBy } from "../support/send-by.ts";

/** Wraps a store, and waits until none of its calls is in flight. */
export function countCalls(given: Store): { readonly store: Store; settled(): Promise<void> } {
  const inner = requireStore(given);
  const calls = new Set<Promise<unknown>>();
  const run: CountingStore["run"] = (operation, call) => {
    const reply = inner.run(operation, call);
    calls.add(reply);
    const forget = () => calls.delete(reply);
    reply.then(forget, forget);
    return reply;
  };
  return {
    store: runningBy(inner, run),
    async settled() {
      while (calls.size > 0) await Promise.allSettled(calls);
    },
  };
}
