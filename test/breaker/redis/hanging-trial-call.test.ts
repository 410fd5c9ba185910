import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, inject, onTestFinished, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import { readStoredPeriod } from "./stored-period.ts";

const TRIAL_CALL_TIMEOUT_MS = 80;

test("a trial call that hangs is a slow failure after trialCallTimeout", async () => {
  let now = 1_800_000_000_000;
  const client = new Redis(inject("redisSocket"));
  const breaker = createBreaker({
    name: "hanging-trial-call",
    store: redisStore(client, { clock: () => now }),
    storeTimeout: "1m",
    minimumCalls: 1,
    slowCall: 40,
    openFor: "30s",
    trialCalls: 2,
    trialCallTimeout: TRIAL_CALL_TIMEOUT_MS,
    flushInterval: 0,
  });
  onTestFinished(async () => {
    await breaker.close();
    client.disconnect();
  });
  const stored = async () => {
    const bytes = await client.getBuffer("hg:{default}:breaker/hanging-trial-call");
    return readStoredPeriod(bytes ?? Buffer.alloc(0));
  };
  await breaker.record("failure");
  now += 30_000;

  let finish: (value: string) => void = () => {};
  const before = performance.now();
  const hanging = breaker.run(
    () =>
      new Promise<string>((resolve) => {
        finish = resolve;
      }),
  );
  await waitUntil("Redis has the failure", 5_000, async () => {
    const { done } = await stored();
    return done === 1 || undefined;
  });
  // A timer may be a millisecond early.
  expect(performance.now() - before).toBeGreaterThanOrEqual(TRIAL_CALL_TIMEOUT_MS - 1);
  const failed = { state: "half-open", done: 1, doneFailures: 1, doneSlow: 1, leases: [] };
  expect(await stored()).toMatchObject(failed);

  // Only the trial call timed out: its caller gets the result, which does not count again.
  finish("late");
  expect(await hanging).toBe("late");
  await breaker.snapshot();
  expect(await stored()).toMatchObject(failed);
  expect(await breaker.run(() => "fine")).toBe("fine");
  await breaker.snapshot();
  expect(await stored()).toMatchObject({ state: "closed", calls: 2, failures: 1, slow: 1 });
});
