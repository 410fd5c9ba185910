import { expect, test } from "vitest";
import type { HeldCall } from "../../../../test/support/held-store.ts";
import { flushMicrotasks, holdStore } from "../../../../test/support/held-store.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { createLimiter } from "../limiter/create-limiter.ts";

/** A subject that has used its limit, on a store that answers when the test says so. */
async function startDenied() {
  const { store, held, advance } = holdStore(() => 0);
  const limits = fixedWindow({ limit: 1, window: "1h" });
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "1m" });
  /** The next call that reaches the store; undefined when none does. */
  const sent = async (): Promise<HeldCall | undefined> => {
    await flushMicrotasks();
    return held.shift();
  };
  const admitted = limiter.consume("u");
  await (await sent())?.carryOut();
  expect((await admitted).allowed).toBe(true);
  return { limiter, store, sent, advance };
}

test("a cached denial decides without a call to the store", async () => {
  const { limiter, sent } = await startDenied();
  const first = limiter.consume("u");
  await (await sent())?.carryOut();
  expect((await first).source).toBe("store");
  expect((await limiter.consume("u")).source).toBe("deny-cache");
  expect(await sent()).toBeUndefined();
});

test("a denial whose reply arrives after a reset is not cached", async () => {
  const { limiter, sent } = await startDenied();
  const late = limiter.consume("u");
  const denial = await sent();
  await denial?.execute();
  const reset = limiter.reset("u");
  await (await sent())?.carryOut();
  expect(await reset).toBe(true);
  await denial?.deliver();
  expect((await late).allowed).toBe(false);
  const next = limiter.consume("u");
  await (await sent())?.carryOut();
  expect(await next).toMatchObject({ allowed: true, source: "store" });
});

test("a cached denial is dropped as soon as a reset is sent", async () => {
  const { limiter, sent } = await startDenied();
  const first = limiter.consume("u");
  await (await sent())?.carryOut();
  await first;
  const reset = limiter.reset("u");
  const resetting = await sent();
  const next = limiter.consume("u");
  const asking = await sent();
  expect(asking?.name).toBe("decide");
  await resetting?.carryOut();
  await asking?.carryOut();
  expect(await reset).toBe(true);
  expect((await next).allowed).toBe(true);
});

test("a denial that was cached while a reset was in flight is dropped when the reset completes", async () => {
  const { limiter, sent, advance } = await startDenied();
  const reset = limiter.reset("u");
  const resetting = await sent();
  advance(1);
  const denied = limiter.consume("u");
  await (await sent())?.carryOut();
  expect((await denied).allowed).toBe(false);
  advance(1);
  await resetting?.carryOut();
  expect(await reset).toBe(true);
  const next = limiter.consume("u");
  await (await sent())?.carryOut();
  expect((await next).allowed).toBe(true);
});

test("a denial cached under a lower limit does not apply to the raised limit", async () => {
  const { limiter, store, sent } = await startDenied();
  const denied = limiter.consume("u");
  await (await sent())?.carryOut();
  expect((await denied).allowed).toBe(false);
  await limiter.close();
  const limits = fixedWindow({ limit: 5, window: "1h" });
  const raised = createLimiter({ name: "api", limits, store, storeTimeout: "1m" });
  const next = raised.consume("u");
  await (await sent())?.carryOut();
  expect(await next).toMatchObject({ allowed: true, source: "store", remaining: 3 });
});

/** A subject with a cached denial. */
async function startCached() {
  const started = await startDenied();
  const { limiter, sent } = started;
  const denied = limiter.consume("u");
  await (await sent())?.carryOut();
  expect((await denied).source).toBe("store");
  return started;
}

test("a cached denial is not used when the clock has stepped back to before its call", async () => {
  const { limiter, sent, advance } = await startCached();
  advance(-1);
  const next = limiter.consume("u");
  await (await sent())?.carryOut();
  expect((await next).source).toBe("store");
});

test("a cached denial is used until a second after its call was sent", async () => {
  const { limiter, sent, advance } = await startDenied();
  const denied = limiter.consume("u");
  const call = await sent();
  await call?.execute();
  advance(400);
  await call?.deliver();
  expect((await denied).source).toBe("store");
  advance(599);
  expect((await limiter.consume("u")).source).toBe("deny-cache");
  advance(1);
  const next = limiter.consume("u");
  await (await sent())?.carryOut();
  expect((await next).source).toBe("store");
});

test("a cached denial is used no longer than its own wait, counted from the sending of its call", async () => {
  const { store, held, advance } = holdStore(() => 0);
  const limits = fixedWindow({ limit: 1, window: 500 });
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "1m" });
  const admitted = limiter.consume("u");
  await flushMicrotasks();
  await held.shift()?.carryOut();
  await admitted;
  const denied = limiter.consume("u");
  await flushMicrotasks();
  await held.shift()?.carryOut();
  const { retryAfterMs } = await denied;
  expect(retryAfterMs).toBe(500);
  advance(499);
  expect((await limiter.consume("u")).source).toBe("deny-cache");
  advance(1);
  const next = limiter.consume("u");
  await flushMicrotasks();
  await held.shift()?.carryOut();
  expect(await next).toMatchObject({ source: "store", allowed: true });
});
