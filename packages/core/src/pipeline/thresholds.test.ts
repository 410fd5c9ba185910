import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  CROSS_SLOT,
  carryOutAll,
  flushMicrotasks,
  holdStore,
  resultOf,
} from "../../../../test/support/held-store.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { HeadgateError } from "../common/errors.ts";
import { CHANNELS } from "../common/publish.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { ThresholdReached } from "./thresholds.ts";

const TIMEOUT_MS = 100;
const notifyAt = [0.5, 1];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** What is published until the test ends, in short. */
function listen(): [limit: string, threshold: number, used: number][] {
  const heard: [string, number, number][] = [];
  const hear = (message: unknown): void => {
    const { name, threshold, used } = message as ThresholdReached;
    heard.push([name, threshold, used]);
  };
  subscribe(CHANNELS.threshold, hear);
  onTestFinished(() => void unsubscribe(CHANNELS.threshold, hear));
  return heard;
}

describe("a reply that arrives after the timeout", () => {
  const limits = fixedWindow({ limit: 2, window: "1h", name: "hour", notifyAt });

  test("thresholds of a late decision are published, because its units are charged", async () => {
    const heard = listen();
    const { store, held } = holdStore(() => 0);
    const limiter = createLimiter({ name: "api", limits, store, storeTimeout: TIMEOUT_MS });
    await resultOf(held, limiter.peek("u"));
    const asked = limiter.consume("u");
    await flushMicrotasks();
    await vi.advanceTimersByTimeAsync(2 * TIMEOUT_MS);
    expect(await asked).toMatchObject({ allowed: true, source: "local" });
    // What this process counts alone tells nothing.
    expect(heard).toEqual([]);
    await held[0]?.carryOut();
    expect(heard).toEqual([["hour", 0.5, 1]]);
  });

  test("thresholds of a late charge are published", async () => {
    const heard = listen();
    const { store, held } = holdStore(() => 0);
    const limiter = createLimiter({ name: "api", limits, store, storeTimeout: TIMEOUT_MS });
    await resultOf(held, limiter.peek("u"));
    const charged = limiter.charge("u", { cost: 2 });
    await flushMicrotasks();
    await vi.advanceTimersByTimeAsync(2 * TIMEOUT_MS);
    expect(await charged).toEqual({ charged: 2, overflow: 0, degraded: true });
    expect(heard).toEqual([]);
    await held[0]?.carryOut();
    expect(heard).toEqual([
      ["hour", 0.5, 2],
      ["hour", 1, 2],
    ]);
  });

  test("a decision that never reached the store publishes no threshold", async () => {
    const heard = listen();
    const { store, held } = holdStore(() => 0);
    const limiter = createLimiter({ name: "api", limits, store, storeTimeout: TIMEOUT_MS });
    await resultOf(held, limiter.peek("u"));
    const asked = limiter.consume("u");
    await flushMicrotasks();
    await held.shift()?.refuse(new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "gone"));
    expect(await asked).toMatchObject({ source: "local" });
    expect(heard).toEqual([]);
  });
});

describe("thresholds across two hash slots", () => {
  const limits = [
    fixedWindow({ limit: 4, window: "1h", name: "user", notifyAt }),
    fixedWindow({ limit: 2, window: "1h", name: "tenant", per: "tenant", notifyAt }),
  ];
  const subject = { default: "u", tenant: "t" };
  const options = { name: "api", limits, storeTimeout: "1m", denyCache: false } as const;
  const startCluster = () => holdStore((key) => (key.includes(":tenant:") ? 1 : 2));

  test("each hash slot reports its own thresholds once", async () => {
    const heard = listen();
    const { store, held } = startCluster();
    const limiter = createLimiter({ ...options, store });
    await resultOf(held, limiter.consume(subject));
    expect(heard.splice(0)).toEqual([["tenant", 0.5, 1]]);
    await resultOf(held, limiter.consume(subject));
    expect(heard.splice(0).toSorted()).toEqual([
      ["tenant", 1, 2],
      ["user", 0.5, 2],
    ]);
    await resultOf(held, limiter.charge(subject, { cost: 2 }));
    expect(heard.splice(0)).toEqual([["user", 1, 4]]);
  });

  test("a threshold is published even if another hash slot denies and the charge is refunded", async () => {
    const heard = listen();
    const { store, held } = startCluster();
    const limiter = createLimiter({ ...options, store });
    const other = createLimiter({ ...options, store });
    const asked = [limiter, other].map((each) => each.consume(subject, { cost: 2 }));
    await flushMicrotasks();
    // Both look before any is charged.
    for (let looks = 4; looks > 0; looks -= 1) await held.shift()?.carryOut();
    await flushMicrotasks();
    await carryOutAll(held);
    await flushMicrotasks();
    await carryOutAll(held);
    const decisions = await Promise.all(asked);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(1);
    expect(heard.splice(0).toSorted()).toEqual([
      ["tenant", 0.5, 2],
      ["tenant", 1, 2],
      ["user", 0.5, 2],
      ["user", 1, 4],
    ]);
    // It stays told.
    await resultOf(held, limiter.charge(subject, { cost: 2 }));
    expect(heard).toEqual([]);
  });

  test("thresholds are published once if a decision is refused with CROSSSLOT and made again", async () => {
    const heard = listen();
    let isKnown = false;
    const { store, held } = holdStore((key) => (isKnown && key.includes(":tenant:") ? 1 : 2));
    const limiter = createLimiter({ ...options, store });
    const asked = limiter.consume(subject, { cost: 2 });
    await flushMicrotasks();
    isKnown = true;
    await held.shift()?.refuse(CROSS_SLOT);
    expect(await resultOf(held, asked)).toMatchObject({ allowed: true });
    expect(heard.toSorted()).toEqual([
      ["tenant", 0.5, 2],
      ["tenant", 1, 2],
      ["user", 0.5, 2],
    ]);
  });
});
