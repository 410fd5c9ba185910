import type { Limit, Limiter } from "@headgate/core";
import { createLimiter, slidingLog, slidingWindow } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { describeStores } from "./stores.ts";

type Plan = "free" | "premium";

const counters: Record<string, (limit: number) => Limit> = {
  "a sliding log": (limit) => slidingLog({ limit, window: "60s" }),
  "a weighted counter of two windows": (limit) => slidingWindow({ limit, window: "60s" }),
};

describeStores("plans", (open) => {
  describe.each(Object.entries(counters))("%s", (kind, limitOf) => {
    async function start() {
      let now = 1_800_000_000_000;
      const store = await open(() => now);
      const make = (plan: Plan, limit: number): Limiter =>
        createLimiter({ ...STORE_ALONE, name: `${kind}, ${plan}`, limits: limitOf(limit), store });
      const plans = { free: make("free", 100), premium: make("premium", 1_000) };
      return {
        pass(seconds: number) {
          now += seconds * 1_000;
        },
        /** How many of so many requests at once are admitted. */
        async admit(user: string, plan: Plan, requests: number): Promise<number> {
          const decisions = Array.from({ length: requests }, () => plans[plan].consume(user));
          return (await Promise.all(decisions)).filter(({ allowed }) => allowed).length;
        },
      };
    }

    test("lets a free user through 100 times in 60 seconds, a premium user 1,000 times", async () => {
      const { admit } = await start();
      expect(await admit("ann", "free", 150)).toBe(100);
      expect(await admit("bob", "free", 100)).toBe(100);
      expect(await admit("cy", "premium", 1_200)).toBe(1_000);
    });

    test("a user who changes the plan has all of the new one", async () => {
      const { admit } = await start();
      await admit("ann", "free", 100);
      expect(await admit("ann", "premium", 1_001)).toBe(1_000);
      expect(await admit("ann", "free", 1)).toBe(0);
    });

    test("lets nobody through twice across a boundary of minutes", async () => {
      const { admit, pass } = await start();
      pass(59);
      expect(await admit("ann", "free", 100)).toBe(100);
      pass(1);
      expect(await admit("ann", "free", 100)).toBe(0);
      pass(30);
      // Half of the window that was used up is still covered; in the log all of it is.
      expect(await admit("ann", "free", 100)).toBe(kind === "a sliding log" ? 0 : 50);
      pass(90);
      expect(await admit("ann", "free", 101)).toBe(100);
    });
  });
});
