import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, onTestFinished, test } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { CHANNELS } from "../common/publish.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { Limiter, LimiterOptions } from "./limiter.ts";
import type { PublishedDecision } from "./published-decision.ts";

const two = gcra({ limit: 2, window: "1h" });

/** A store whose clock stands still. */
function stillStore() {
  return memoryStore({ clock: () => 1_000_000 });
}

function limiterWith(options: Partial<LimiterOptions>): Limiter {
  const limiter = createLimiter({ name: "api", limits: two, store: stillStore(), ...options });
  onTestFinished(() => limiter.close());
  return limiter;
}

describe("consume in shadow mode", () => {
  test("in shadow mode every request is allowed, and wouldAllow reports the decision", async () => {
    const limiter = limiterWith({ shadow: true });
    const decisions = [];
    for (let i = 0; i < 4; i += 1) decisions.push(await limiter.consume("ada"));
    expect(
      decisions.map(({ allowed, shadow, wouldAllow }) => ({ allowed, shadow, wouldAllow })),
    ).toEqual([
      { allowed: true, shadow: true, wouldAllow: true },
      { allowed: true, shadow: true, wouldAllow: true },
      { allowed: true, shadow: true, wouldAllow: false },
      { allowed: true, shadow: true, wouldAllow: false },
    ]);
  });

  test("shadow mode counts like normal mode: a request that would be denied costs nothing", async () => {
    const shadow = limiterWith({ shadow: true });
    const enforcing = limiterWith({});
    for (const cost of [1, 2, 1, 1]) {
      const [inShadow, enforced] = [
        await shadow.consume("ada", { cost }),
        await enforcing.consume("ada", { cost }),
      ];
      expect(inShadow.wouldAllow).toBe(enforced.allowed);
      expect(inShadow).toMatchObject({ limits: enforced.limits, remaining: enforced.remaining });
    }
  });

  test("in shadow mode retryAfterMs is 0, and the limits report the wait", async () => {
    const limiter = limiterWith({ shadow: true, limits: gcra({ limit: 1, window: "1h" }) });
    await limiter.consume("ada");
    const { retryAfterMs, limits } = await limiter.consume("ada");
    expect(retryAfterMs).toBe(0);
    expect(limits).toMatchObject([{ allowed: false, retryAfterMs: 3_600_000 }]);
  });

  test("in shadow mode the limit that would have denied binds", async () => {
    const limits = [
      slidingLog({ limit: 2, window: "1m" }),
      gcra({ limit: 50, window: "1m", burst: 3 }),
    ];
    const limiter = limiterWith({ shadow: true, limits });
    await limiter.consume("ada", { cost: 2 });
    expect(await limiter.consume("ada")).toMatchObject({
      limit: 2,
      remaining: 0,
      wouldAllow: false,
    });
  });

  test("decisions in shadow mode are published as such", async () => {
    const messages: PublishedDecision[] = [];
    const note = (message: unknown) => void messages.push(message as PublishedDecision);
    subscribe(CHANNELS.decision, note);
    onTestFinished(() => void unsubscribe(CHANNELS.decision, note));
    const limiter = limiterWith({ shadow: true });
    await limiter.consume("ada");
    await limiter.consume("ada", { cost: 2 });
    await limiterWith({ name: "other" }).consume("ada");
    expect(messages.map(({ shadow, decision }) => [shadow, decision.wouldAllow])).toEqual([
      [true, true],
      [true, false],
      [false, true],
    ]);
  });
});

test("outside shadow mode, wouldAllow equals allowed", async () => {
  const limiter = limiterWith({ shadow: false });
  const decisions = [await limiter.consume("ada", { cost: 2 }), await limiter.consume("ada")];
  expect(decisions).toMatchObject([
    { allowed: true, shadow: false, wouldAllow: true },
    { allowed: false, shadow: false, wouldAllow: false },
  ]);
});

test("in shadow mode, peek returns the decision that consume would return", async () => {
  const limiter = limiterWith({ shadow: true });
  const wouldBe = { allowed: true, shadow: true, wouldAllow: false };
  expect(await limiter.peek("ada", { cost: 3 })).toMatchObject(wouldBe);
  await limiter.consume("ada", { cost: 2 });
  expect(await limiter.peek("ada")).toMatchObject(wouldBe);
  expect(await limiter.peek("ada", { cost: 0 })).toMatchObject({ wouldAllow: true });
});

test("in shadow mode, refund refunds charged decisions, but not those that would have been denied", async () => {
  const limiter = limiterWith({ shadow: true });
  const charged = await limiter.consume("ada", { cost: 2 });
  const denied = await limiter.consume("ada");
  expect(await limiter.refund(denied)).toBe(false);
  expect((await limiter.peek("ada", { cost: 0 })).remaining).toBe(0);
  expect(await limiter.refund(charged)).toBe(true);
  expect(await limiter.refund(charged)).toBe(false);
  expect((await limiter.peek("ada", { cost: 0 })).remaining).toBe(2);
});

describe("wait in shadow mode", () => {
  test("in shadow mode, wait admits at once, even a cost above the limit", async () => {
    const limiter = limiterWith({ shadow: true, maxQueue: 1 });
    const all = await Promise.all([1, 2, 3, 2].map((cost) => limiter.wait("ada", { cost })));
    expect(all.map(({ allowed, wouldAllow }) => [allowed, wouldAllow])).toEqual([
      [true, true],
      [true, false],
      [true, false],
      [true, false],
    ]);
  });

  test("in shadow mode, wait still rejects invalid arguments", async () => {
    const limiter = limiterWith({ shadow: true });
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(limiter.wait("ada", { signal })).rejects.toThrow("enough");
    await expect(limiter.wait("ada", { cost: -1 })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_COST",
    });
    await expect(limiter.wait("")).rejects.toMatchObject({ code: "HEADGATE_EMPTY_KEY" });
    expect((await limiter.peek("ada", { cost: 0 })).remaining).toBe(2);
  });
});

describe("a limiter that extends another", () => {
  const own = gcra({ limit: 1, window: "1m" });

  test("a limiter and the one it extends are in shadow mode together", async () => {
    const parent = limiterWith({ shadow: true });
    const child = limiterWith({
      name: "child",
      limits: own,
      extends: parent,
      store: undefined,
      shadow: true,
    });
    await child.consume("ada");
    expect(await child.consume("ada")).toMatchObject({ allowed: true, wouldAllow: false });
    expect(await parent.consume("ada")).toMatchObject({ allowed: true, wouldAllow: true });
    expect(await parent.consume("ada")).toMatchObject({ allowed: true, wouldAllow: false });
  });

  test.each([
    { shadow: true, of: undefined },
    { shadow: undefined, of: true },
    { shadow: false, of: true },
  ])("is refused with shadow $shadow where that has $of", ({ shadow, of }) => {
    const parent = limiterWith({ shadow: of });
    const make = () =>
      limiterWith({ name: "child", limits: own, extends: parent, store: undefined, shadow });
    expect(make).toThrow(
      `extends: both limiters must have the same shadow, because they make one decision; it is ${of ?? false} for the limiter that is extended, got ${shadow ?? false}`,
    );
  });
});

test("limiters with one name share counters and refunds, whether or not one is in shadow mode", async () => {
  const store = stillStore();
  const shadow = limiterWith({ store, shadow: true });
  const enforcing = limiterWith({ store });
  const charged = await shadow.consume("ada", { cost: 2 });
  expect(await enforcing.consume("ada")).toMatchObject({ allowed: false, shadow: false });
  expect(await enforcing.refund(charged)).toBe(true);
  expect(await enforcing.consume("ada")).toMatchObject({ allowed: true });
});

test.each([[1], ["yes"], [null], [{}]])("shadow: %j is rejected", (shadow) => {
  expect(() => limiterWith({ shadow: shadow as never })).toThrow("shadow must be true or false");
});
