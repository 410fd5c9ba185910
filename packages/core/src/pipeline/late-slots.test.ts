import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  carryOutAll,
  flushMicrotasks,
  holdStore,
  resultOf,
} from "../../../../test/support/held-store.ts";
import { concurrency } from "../algorithms/concurrency.ts";
import { createLimiter } from "../limiter/create-limiter.ts";

const TIMEOUT_MS = 100;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const perUser = concurrency({ limit: 2, ttl: "1h", name: "user" });
const perTenant = concurrency({ limit: 3, ttl: "1h", name: "tenant", per: "tenant" });

test.each([
  ["one hash slot", () => 0, perUser, "u", [2]],
  [
    "several hash slots",
    (key: string) => (key.includes(":tenant:") ? 1 : 2),
    [perUser, perTenant],
    { default: "u", tenant: "t" },
    [2, 3],
  ],
])(
  "slots that a late reply took in %s are released",
  async (_, hashSlotOf, limits, subject, unused) => {
    const { store, held } = holdStore(hashSlotOf);
    const options = { name: "api", limits, store, storeTimeout: TIMEOUT_MS } as const;
    const limiter = createLimiter(options);
    await resultOf(held, limiter.peek(subject, { cost: 0 }));
    const asked = limiter.consume(subject);
    await flushMicrotasks();
    // Checks of several hash slots are answered in time, and their charges are not.
    if (held[0]?.name === "peek") for (const check of held.splice(0)) await check.carryOut();
    await vi.advanceTimersByTimeAsync(3 * TIMEOUT_MS);
    expect(await asked).toMatchObject({ source: "local" });
    const late = held.splice(0);
    expect(late.filter(({ name }) => name === "decide")).toHaveLength(unused.length);
    for (const call of late) await call.carryOut();
    expect(held.filter(({ name }) => name === "slots")).toHaveLength(unused.length);
    // From now on the servers answer in time, and so do the probes.
    for (let ms = 0; ms < 20 * TIMEOUT_MS; ms += TIMEOUT_MS / 2) {
      await carryOutAll(held);
      await vi.advanceTimersByTimeAsync(TIMEOUT_MS / 2);
    }
    const looked = await resultOf(held, limiter.peek(subject, { cost: 0 }));
    expect(looked.source).toBe("store");
    expect(looked.limits.map(({ remaining }) => remaining)).toEqual(unused);
  },
);
