import type { Store } from "@headgate/core";
import { usageTimes } from "../../packages/core/src/fleet/usage/limiter-usage.ts";
import { usageOf } from "../../packages/core/src/fleet/usage/usage.ts";

/** Sends what the limiters on a store have counted, also subjects, whose time may not have come. */
export async function sendUsage(store: Store): Promise<void> {
  const times = usageTimes();
  const { subjectsEvery } = times;
  // What is under way may have left them out.
  await usageOf(store).send();
  times.subjectsEvery = 0;
  try {
    await usageOf(store).send();
  } finally {
    times.subjectsEvery = subjectsEvery;
  }
}
