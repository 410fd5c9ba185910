import { expect, test } from "vitest";
import type { LimiterInternals } from "../limiter/limiter-internals.ts";
import type { HttpRequest } from "./client.ts";
import { createControlStep } from "./control-step.ts";
import type { RequestContext } from "./request-context.ts";

/** A step whose control record is due, and takes `readMs` of the event-loop clock to read. */
function stepThatReads(readMs: number) {
  let now = 1_000;
  const internals = {
    control: {
      cache: { record: {}, refreshDueAt: Number.NEGATIVE_INFINITY, now: () => 0 },
      async refresh() {
        await Promise.resolve();
        now += readMs;
      },
    },
    monitor: { now: () => now },
  };
  const ports = internals as unknown as Pick<LimiterInternals, "control" | "monitor">;
  return createControlStep<HttpRequest>(ports, undefined, () => {});
}

test("the time that a request waits for the control record is part of its storeTimeout", async () => {
  const context = { controlWaitMs: 0, isControlFresh: false } as RequestContext<HttpRequest>;
  expect(await stepThatReads(40)?.(context)).toBeUndefined();
  expect(context).toMatchObject({ controlWaitMs: 40, isControlFresh: true });
});
