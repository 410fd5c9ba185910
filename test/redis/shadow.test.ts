import type { Decision, LimiterOptions } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { expect, onTestFinished, test } from "vitest";
import { useLosableRedis } from "../http/support/losable-redis.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { degradedDuring } from "./degraded-decisions.ts";

const redis = useLosableRedis();
const two = gcra({ limit: 2, window: "1h" });

/** A limiter in shadow, and one without on the same counters. */
async function startPair(options: Partial<LimiterOptions> = {}) {
  const store = await redis.openStore();
  const both = { name: "api", limits: two, store, storeTimeout: 500, ...options };
  const shadow = createLimiter({ ...both, shadow: true });
  const enforcing = createLimiter(both);
  onTestFinished(async () => {
    await shadow.close();
    await enforcing.close();
  });
  return { shadow, enforcing };
}

test("in Redis, shadow mode counts like normal mode, and a request that would be denied costs nothing", async () => {
  const { shadow, enforcing } = await startPair({ denyCache: false });
  const would = [];
  for (const cost of [1, 2, 1, 1]) would.push((await shadow.consume("u", { cost })).wouldAllow);
  expect(would).toEqual([true, false, true, false]);
  expect(await enforcing.consume("u")).toMatchObject({ allowed: false, shadow: false });
  expect((await enforcing.peek("u", { cost: 0 })).limits).toMatchObject([
    { remaining: 0, overdrawn: 0 },
  ]);
});

test("limiters in shadow mode and outside it share cached denials", async () => {
  const { shadow, enforcing } = await startPair();
  await shadow.consume("u", { cost: 2 });
  await shadow.consume("u");
  const known = { source: "deny-cache", wouldAllow: false };
  expect(await shadow.consume("u")).toMatchObject({ ...known, allowed: true, shadow: true });
  expect(await enforcing.consume("u")).toMatchObject({ ...known, allowed: false, shadow: false });
});

test("a refund in shadow mode refunds the charge in Redis", async () => {
  const { shadow, enforcing } = await startPair();
  const charged = await shadow.consume("u", { cost: 2 });
  expect((await shadow.consume("u")).wouldAllow).toBe(false);
  expect(await shadow.refund(charged)).toBe(true);
  expect((await enforcing.consume("u")).allowed).toBe(true);
});

test.each([
  { onUnavailable: "deny", would: [false, false, false] },
  { onUnavailable: "allow", would: [true, true, true] },
  { onUnavailable: "local", would: [true, true, false] },
] as const)(
  "without Redis, shadow mode with onUnavailable $onUnavailable denies no request, and publishes degraded decisions",
  async ({ onUnavailable, would }) => {
    watchWarnings();
    const { shadow } = await startPair({ onUnavailable });
    await shadow.consume("warm");
    redis.lose();
    const decisions: Decision[] = [];
    const published = await degradedDuring(async () => {
      for (let i = 0; i < 3; i += 1) decisions.push(await shadow.consume("u"));
    });
    await redis.restore();
    expect(decisions).toMatchObject(
      would.map((wouldAllow) => ({ allowed: true, shadow: true, degraded: true, wouldAllow })),
    );
    expect(published.map(({ decision }) => decision)).toEqual(decisions);
  },
);
