import { describe, expect, test } from "vitest";
import { loopBesideTimer } from "../../../../test/support/loop-beside-timer.ts";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { createLimiter } from "./create-limiter.ts";
import type { Limiter } from "./limiter.ts";

/** The longest gap of a timer beside a loop, in milliseconds. */
const MAX_GAP_MS = 50;

const limits = gcra({ limit: 1_000_000, window: "1s" });

async function closed(): Promise<Limiter> {
  const limiter = createLimiter({ limits });
  await limiter.close();
  return limiter;
}

describe("timers fire beside a loop that awaits", () => {
  const limiter = createLimiter({ limits });
  const full = createLimiter({ limits: fixedWindow({ limit: 1, window: "1d" }) });
  const jobs = createLimiter({ limits: concurrency({ limit: 10, ttl: "1m" }) });
  const finished = jobs.consume("a");

  test.each<[string, () => Promise<unknown>]>([
    ["consume", () => limiter.consume("a")],
    ["consume, which denies", () => full.consume("a")],
    ["consume without a subject, which rejects", () => limiter.consume("")],
    ["consume with upTo", () => limiter.consume("a", { upTo: 3 })],
    ["meter, add and end", async () => (await limiter.meter("a", { every: 1 })).end()],
    ["peek", () => limiter.peek("a")],
    ["charge", () => limiter.charge("a")],
    ["consume and settle", async () => limiter.settle(await limiter.consume("a"), 3)],
    ["consume and refund", async () => limiter.refund(await limiter.consume("a"))],
    ["release of a slot that is free already", async () => jobs.release(await finished)],
    ["reset", () => limiter.reset("a")],
    ["block", () => limiter.block("b", "1h")],
    ["unblock", () => limiter.unblock("b")],
    ["wait", () => limiter.wait("a")],
    ["run", () => limiter.run("a", () => {})],
    ["ready", () => limiter.ready()],
  ])("%s", async (_, call) => {
    expect(await loopBesideTimer(call)).toBeLessThan(MAX_GAP_MS);
  });

  test("consume of a closed limiter", async () => {
    const limiter = await closed();
    expect(await loopBesideTimer(() => limiter.consume("a"))).toBeLessThan(MAX_GAP_MS);
  });

  test("consume of a limiter that is created for each call", async () => {
    const call = () => createLimiter({ limits }).consume("a");
    expect(await loopBesideTimer(call)).toBeLessThan(MAX_GAP_MS);
  });

  test("consume under 64 limits, in turn with consume under one", async () => {
    const spans = Array.from({ length: 64 }, (_, i) => 1_000 * (i + 1));
    const many = createLimiter({
      limits: spans.map((window) =>
        slidingLog({ limit: 1_000, window, name: `${window}`, per: "default" }),
      ),
    });
    let calls = 0;
    const call = () => {
      calls += 1;
      return calls % 500 < 100 ? many.consume("a") : limiter.consume("a");
    };
    expect(await loopBesideTimer(call)).toBeLessThan(MAX_GAP_MS);
  });

  test("consume, in 100 loops at once", async () => {
    let isOver = false;
    async function loop(): Promise<void> {
      while (!isOver) await limiter.consume("a");
    }
    const loops = Array.from({ length: 99 }, loop);
    const gap = await loopBesideTimer(() => limiter.consume("a"));
    isOver = true;
    await Promise.all(loops);
    expect(gap).toBeLessThan(MAX_GAP_MS);
  });
});
