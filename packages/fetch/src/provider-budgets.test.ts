import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Limiter } from "@headgate/core";
import { CHANNELS, createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { expect, onTestFinished, test } from "vitest";
import { ProviderBudgets } from "./provider-budgets.ts";

const LIMITS = fixedWindow({ limit: 10, window: "1h", block: "1h" });

/** A provider that has 2 of 10 units left. */
const BUDGETS = [
  {
    unit: "requests",
    bucket: undefined,
    limit: 10,
    remaining: 2,
    resetMs: undefined,
    windowMs: undefined,
  },
];

function start(): Limiter {
  const limiter = createLimiter({ name: "api", store: memoryStore(), limits: LIMITS });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

/** Counts the published decisions until the test ends. */
function countDecisions(): () => number {
  let count = 0;
  const add = () => {
    count += 1;
  };
  subscribe(CHANNELS.decision, add);
  onTestFinished(() => {
    unsubscribe(CHANNELS.decision, add);
  });
  return () => count;
}

test("units that the provider counts beyond the limiter are charged without a published decision", async () => {
  const limiter = start();
  const decision = await limiter.consume("me");
  const decisions = countDecisions();
  await new ProviderBudgets(limiter).apply("me", decision, BUDGETS, true);
  expect((await limiter.peek("me", { cost: 0 })).remaining).toBe(2);
  expect(decisions()).toBe(0);
});

test("units that are not left any more by the time of their charge start no block", async () => {
  const limiter = start();
  const decision = await limiter.consume("me");
  // Calls of another process come in between.
  const raced: Limiter = Object.create(limiter, {
    peek: {
      value: async (...args: Parameters<Limiter["peek"]>) => {
        const present = await limiter.peek(...args);
        await limiter.consume("me", { cost: 5 });
        return present;
      },
    },
  });
  await new ProviderBudgets(raced).apply("me", decision, BUDGETS, true);
  expect(await limiter.peek("me", { cost: 0 })).toMatchObject({ remaining: 4, blocked: false });
});
