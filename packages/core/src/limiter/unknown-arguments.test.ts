import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { createLimiter } from "./create-limiter.ts";

/** A limiter whose methods take anything, as JavaScript's do. */
function start() {
  const limiter = createLimiter({ limits: fixedWindow({ limit: 10, window: "1h" }) });
  return { limiter, loose: limiter as never as Record<string, (...args: unknown[]) => unknown> };
}

function refusal(message: string) {
  return { code: "HEADGATE_INVALID_OPTION", message };
}

describe("unknown arguments", () => {
  test("refund rejects an amount instead of refunding everything", async () => {
    const { limiter, loose } = start();
    const decision = await limiter.consume("u", { cost: 5 });
    const message = "refund(decision) takes no other argument, got an object";
    await expect(loose["refund"]?.(decision, { cost: 1 })).rejects.toMatchObject(refusal(message));
    await expect(loose["refund"]?.(decision, 1)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
    });
    // Nothing was refunded, so the decision can still be refunded.
    expect(await limiter.peek("u")).toMatchObject({ remaining: 4 });
    expect(await limiter.refund(decision)).toBe(true);
  });

  test("reset rejects unknown options instead of resetting everything", async () => {
    const { limiter, loose } = start();
    await limiter.consume("u");
    await expect(loose["reset"]?.("u", { limit: "10-per-1h" })).rejects.toMatchObject(
      refusal('reset: unknown option "limit"; it takes ignoreUnknownDimensions'),
    );
    await expect(loose["reset"]?.("u", "default")).rejects.toThrow(/options must be an object/);
    await expect(loose["reset"]?.("u", { ignoreUnknownDimensions: 1 })).rejects.toMatchObject(
      refusal("ignoreUnknownDimensions must be true or false, got 1"),
    );
    await expect(loose["reset"]?.("u", {}, "default")).rejects.toMatchObject(
      refusal("reset(subject, options) takes no other argument, got a string"),
    );
    expect(await limiter.reset("u")).toBe(true);
  });

  test("block and unblock reject further arguments", async () => {
    const { limiter, loose } = start();
    await expect(loose["block"]?.("u", "1h", { why: "spam" })).rejects.toMatchObject(
      refusal('block: unknown option "why"; it takes ignoreUnknownDimensions, reason'),
    );
    await expect(loose["unblock"]?.("u", "1h")).rejects.toMatchObject(
      refusal('unblock: options must be an object, got "1h"'),
    );
    expect(await limiter.peek("u")).toMatchObject({ blocked: false });
    await expect(limiter.block("", "1h")).rejects.toMatchObject({ code: "HEADGATE_EMPTY_KEY" });
    await limiter.close();
    await expect(limiter.block("u", "1h")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
    await expect(limiter.unblock("u")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });

  test("undefined as a further argument is ignored", async () => {
    const { limiter, loose } = start();
    const decision = await limiter.consume("u", undefined);
    expect(await loose["refund"]?.(decision, undefined)).toBe(true);
    expect(await loose["reset"]?.("u", undefined)).toBe(true);
    await loose["close"]?.(undefined);
  });

  test.each(["consume", "peek", "wait"])(
    "%s does not take a signal for its options",
    async (method) => {
      const { loose } = start();
      const { signal } = new AbortController();
      await expect(loose[method]?.("u", signal)).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining("options must be a plain object"),
      });
    },
  );
});

describe("close", () => {
  test("close rejects options, and the limiter stays open", async () => {
    const { limiter, loose } = start();
    await expect(loose["close"]?.({ timeout: "5s" })).rejects.toMatchObject(
      refusal("close() takes no other argument, got an object"),
    );
    expect((await limiter.consume("u")).allowed).toBe(true);
  });

  test.each([
    ["a signal of the process", ["SIGTERM", 15]],
    ["an event", [new Event("abort")]],
    ["a result", [["one", "two"]]],
  ])("closes when a shutdown hook hands it %s", async (_, args) => {
    const { limiter, loose } = start();
    await loose["close"]?.(...args);
    await expect(limiter.consume("u")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });
});
