import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { recordBreakerEvents } from "../../support/record-breaker-events.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

setFlagsFromString("--expose-gc");
/** Collects in a turn of its own, so that nothing is held because it is still on the stack. */
const collectGarbage = runInNewContext('() => gc({ execution: "async" })') as () => Promise<void>;

test("a target beyond maxTargets is garbage-collected once its outcomes are sent", async () => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  const { breaker, peer, take } = holdBreaker({ maxTargets: 1, storeTimeout: "1m" });
  /** Learns how a target is doing. */
  async function look(name: string): Promise<void> {
    const looking = breaker.for(name).snapshot();
    await letRun();
    await take().carryOut();
    await looking;
  }
  await peer.for("eu").metricsOnly();
  await breaker.for("eu").record("success");
  await pass(250);
  await take().carryOut();
  await look("us");
  vi.useRealTimers();
  // What was looked at in this turn is held until it is over.
  await new Promise((resolve) => setImmediate(resolve));
  await collectGarbage();
  const heard = recordBreakerEvents();
  await look("eu");
  // It is learned anew: nothing was known of it.
  expect(heard).toMatchObject([["state", { target: "eu", from: "closed", to: "metrics-only" }]]);
});
