import type { Store } from "@headgate/core";

/** Knows when no call is under way. */
export function countCalls(inner: Store): { readonly store: Store; settled(): Promise<void> } {
  const calls = new Set<Promise<unknown>>();
  const run: Store["run"] = (step, call, waiter) => {
    const reply = inner.run(step, call, waiter);
    calls.add(reply);
    const forget = () => calls.delete(reply);
    reply.then(forget, forget);
    return reply;
  };
  return {
    store: { ...inner, run },
    async settled() {
      while (calls.size > 0) await Promise.allSettled(calls);
    },
  };
}
