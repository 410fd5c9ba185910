import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { recordBreakerEvents } from "../../support/record-breaker-events.ts";
import { advance, flushMicrotasks, holdBreaker } from "./held-breaker.ts";

setFlagsFromString("--expose-gc");
/** Collects garbage in a turn of its own, so that references on the stack hold nothing. */
const collectGarbage = runInNewContext('() => gc({ execution: "async" })') as () => Promise<void>;

test("a target beyond maxTargets is garbage-collected once its outcomes are sent", async () => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  const { breaker, peer, take } = holdBreaker({ maxTargets: 1, storeTimeout: "1m" });
  /** Reads the state of a target. */
  async function read(name: string): Promise<void> {
    const snapshot = breaker.for(name).snapshot();
    await flushMicrotasks();
    await take().complete();
    await snapshot;
  }
  await peer.for("eu").metricsOnly();
  await breaker.for("eu").record("success");
  await advance(250);
  await take().complete();
  await read("us");
  vi.useRealTimers();
  // Weak references that were read in this turn are held until the turn ends.
  await new Promise((resolve) => setImmediate(resolve));
  await collectGarbage();
  const events = recordBreakerEvents();
  await read("eu");
  // The state is published again, because a new tracker has no earlier view.
  expect(events).toMatchObject([["state", { target: "eu", from: "closed", to: "metrics-only" }]]);
});
