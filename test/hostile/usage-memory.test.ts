import { HeadgateError, memoryStore } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { expect, test } from "vitest";
import { ProcessUsage } from "../../packages/core/src/usage/process-usage.ts";
import { liveMebibytes } from "./memory-use.ts";

const DENIED = {
  wouldAllow: false,
  degraded: false,
  limits: [{ allowed: false, per: "default" }],
} as never;

/** No call reaches Redis, so the process keeps all counts. */
function startWithout(): ProcessUsage {
  const unavailable = new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "gone");
  const usage = new ProcessUsage("hg", () => {});
  const store = { ...requireStore(memoryStore()), run: () => Promise.reject(unavailable) };
  usage.add(store, "limiter 0", "plain");
  return usage;
}

test.each([
  { limiters: 1, subjects: 1_000_000 },
  { limiters: 10_000, subjects: 100 },
])(
  "$subjects subjects of $limiters limiters take a process less than 8 MB, also while the store is away",
  async ({ limiters, subjects }) => {
    const before = liveMebibytes();
    const usage = startWithout();
    const store = { ...requireStore(memoryStore()), run: () => Promise.reject(new Error("gone")) };
    const counted = Array.from({ length: limiters }, (_, i) =>
      usage.add(store, `limiter ${i} ${"y".repeat(30)}`, "plain"),
    );
    // The longest subjects that are not hashed, with two bytes per character.
    const filler = "ж".repeat(56);
    for (let turn = 0; turn < 20; turn += 1) {
      for (let i = 0; i < (subjects * limiters) / 20; i += 1) {
        const subject = `${filler}${turn * 50_000 + i}`.slice(0, 64);
        counted[i % limiters]?.record({ default: subject }, DENIED);
      }
      await usage.send();
    }
    const mebibytes = liveMebibytes() - before;
    console.log(`${mebibytes.toFixed(1)} MB`);
    expect(mebibytes).toBeLessThan(8);
    expect(counted).toHaveLength(limiters);
    await usage.remove("limiter 0");
  },
);
