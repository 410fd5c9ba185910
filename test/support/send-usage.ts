import type { Store } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { usageOf } from "../../packages/core/src/usage/process-usage.ts";
import { usageIntervals } from "../../packages/core/src/usage/usage-counter.ts";

/** Sends the usage of the limiters on a store at once, including that of subjects, which is otherwise sent less often. */
export async function sendUsage(store: Store): Promise<void> {
  const usage = usageOf(requireStore(store));
  const times = usageIntervals();
  const { subjectsEveryMs } = times;
  // A report in flight may not include subjects, so wait for it first.
  await usage.send();
  times.subjectsEveryMs = 0;
  try {
    await usage.send();
  } finally {
    times.subjectsEveryMs = subjectsEveryMs;
  }
}
