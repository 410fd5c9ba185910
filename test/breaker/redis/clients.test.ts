import type { Outcome } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { describe, expect, inject, test } from "vitest";
import { clientNames, connect } from "../../redis/clients.ts";
import { listenToBreaker } from "./breaker-events.ts";

const socket = inject("redisSocket");

describe.each(clientNames)("through %s", (library) => {
  test("a breaker passes through all its states, as other clients see them", async () => {
    let now = 1_800_000_000_000;
    const { client, close } = await connect[library](socket);
    const witness = new Redis(socket);
    const name = `clients ${library}`;
    const options = {
      name,
      storeTimeout: "1m",
      minimumCalls: 4,
      openFor: (opened: number) => opened * 10_000,
      trialCalls: 2,
      rampUp: "1m",
      flushInterval: 0,
    } as const;
    const clock = () => now;
    const breaker = createBreaker<string>({ ...options, store: redisStore(client, { clock }) });
    const other = createBreaker<string>({ ...options, store: redisStore(witness, { clock }) });
    const events = listenToBreaker(name);
    /** Nothing is looked at before the store has the outcome: a pool's connections do not wait for each other. */
    const call = async (outcome: Outcome): Promise<boolean> => {
      const permit = await breaker.admit();
      await permit.record(outcome);
      return permit.allowed;
    };
    const state = async () => {
      const [mine, theirs] = [await breaker.snapshot(), await other.snapshot()];
      expect(theirs).toEqual(mine);
      return mine;
    };

    expect(await call("success")).toBe(true);
    for (let i = 0; i < 3; i += 1) expect(await call("failure")).toBe(true);
    expect(await state()).toMatchObject({ state: "open", calls: 4, failures: 3, openings: 1 });
    expect(await call("success")).toBe(false);
    now += 10_000;
    expect(await call("failure")).toBe(true);
    expect(await call("failure")).toBe(true);
    expect(await state()).toMatchObject({ state: "open", openings: 2, retryAfterMs: 20_000 });
    now += 20_000;
    expect(await call("success")).toBe(true);
    expect(await call("success")).toBe(true);
    expect(await state()).toMatchObject({
      state: "closed",
      openings: 0,
      calls: 0,
      degraded: false,
    });
    const ramping = await Promise.all(Array.from({ length: 20 }, () => breaker.admit()));
    expect(ramping.filter(({ allowed }) => allowed)).toHaveLength(2);
    for (const [order, set] of [
      ["forceOpen", "forced-open"],
      ["disable", "disabled"],
      ["metricsOnly", "metrics-only"],
      ["reset", "closed"],
    ] as const) {
      await breaker[order]();
      expect((await state()).state).toBe(set);
    }
    // Both breakers of this process report each change, and one of them caused it.
    const changes = events.states
      .filter(({ causedHere }) => causedHere)
      .map(({ from, to }) => `${from} ${to}`);
    expect(changes).toEqual([
      "closed open",
      "open half-open",
      "half-open open",
      "open half-open",
      "half-open closed",
      "closed forced-open",
      "forced-open disabled",
      "disabled metrics-only",
      "metrics-only closed",
    ]);
    events.stop();
    await breaker.close();
    await other.close();
    witness.disconnect();
    await close();
  });
});
