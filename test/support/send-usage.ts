import type { Store } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { usageOf } from "../../packages/core/src/usage/usage.ts";
import { usageIntervals } from "../../packages/core/src/usage/usage-counter.ts";

/** Sends what the limiters on a store have counted, also subjects, whose time may not have come. */
export async function sendUsage(store: Store): Promise<void> {
  const usage = usageOf(requireStore(store));
  const times = usageIntervals();
  const { subjectsEveryMs } = times;
  // What is under way may have left them out.
  await usage.send();
  times.subjectsEveryMs = 0;
  try {
    await usage.send();
  } finally {
    times.subjectsEveryMs = subjectsEveryMs;
  }
}
