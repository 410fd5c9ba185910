import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { watchUnhandled } from "../../../test/http/support/unhandled.ts";
import { breakerOnClock } from "../../../test/support/breaker-on-clock.ts";
import {
  recordBreakerEvents,
  recordChannelEvents,
} from "../../../test/support/record-breaker-events.ts";
import { BREAKER_CHANNELS } from "./channels.ts";
import { createBreaker } from "./create-breaker.ts";
import { publishRejected } from "./tracker/publish.ts";

test("BREAKER_CHANNELS has the documented channel names", () => {
  expect(BREAKER_CHANNELS).toEqual({
    state: "headgate:breaker:state",
    rejected: "headgate:breaker:rejected",
    degraded: "headgate:breaker:degraded",
    call: "headgate:breaker:call",
    snapshot: "headgate:breaker:snapshot",
  });
});

const payments = { breaker: "payments", target: "default", degraded: false };

describe("state changes", () => {
  test("a breaker publishes each change of state once, with the counts that caused it", async () => {
    const { breaker, advance } = breakerOnClock({
      slowCall: 10,
      openFor: (opened) => opened * 1_000,
      rampUp: "1m",
    });
    const heard = recordBreakerEvents();
    await breaker.record("success", 11);
    for (let i = 0; i < 4; i += 1) await breaker.record("failure");
    expect(heard).toEqual([
      [
        "state",
        {
          ...payments,
          from: "closed",
          to: "open",
          causedHere: true,
          calls: 4,
          failures: 3,
          slowCalls: 1,
          successRate: 0.25,
          slowCallRate: 0.25,
          openings: 1,
          openForMs: 1_000,
        },
      ],
    ]);
    heard.length = 0;
    advance(1_000);
    const trials = [await breaker.admit(), await breaker.admit()];
    await trials[0]?.record("success", 11);
    await trials[1]?.record("failure", 11);
    expect(heard).toEqual([
      [
        "state",
        {
          ...payments,
          from: "open",
          to: "half-open",
          causedHere: true,
          // What caused the opening caused the trial.
          calls: 4,
          failures: 3,
          slowCalls: 1,
          successRate: 0.25,
          slowCallRate: 0.25,
          openings: 1,
          openForMs: 0,
        },
      ],
      [
        "state",
        {
          ...payments,
          from: "half-open",
          to: "open",
          causedHere: true,
          calls: 2,
          failures: 1,
          slowCalls: 2,
          successRate: 0.5,
          slowCallRate: 1,
          openings: 2,
          openForMs: 2_000,
        },
      ],
    ]);
    heard.length = 0;
    advance(2_000);
    for (let i = 0; i < 2; i += 1) await (await breaker.admit()).record("success");
    expect(heard.map(([, message]) => message)).toMatchObject([
      { from: "open", to: "half-open" },
      {
        ...payments,
        from: "half-open",
        to: "closed",
        causedHere: true,
        calls: 2,
        failures: 0,
        slowCalls: 0,
        successRate: 1,
        slowCallRate: 0,
        openings: 0,
        openForMs: 0,
      },
    ]);
  });

  test("a manual state change is published with the counts of the window", async () => {
    const { breaker, count } = breakerOnClock();
    await count(1, 2);
    const heard = recordBreakerEvents();
    await breaker.forceOpen();
    await breaker.forceOpen();
    await breaker.metricsOnly();
    await breaker.disable();
    await breaker.reset();
    await breaker.reset();
    const window = { calls: 3, failures: 2, slowCalls: 0, successRate: 1 / 3, slowCallRate: 0 };
    const change = { ...payments, ...window, causedHere: true, openings: 0, openForMs: 0 };
    expect(heard).toEqual([
      ["state", { ...change, from: "closed", to: "forced-open" }],
      ["state", { ...change, from: "forced-open", to: "metrics-only" }],
      ["state", { ...change, from: "metrics-only", to: "disabled" }],
      ["state", { ...change, from: "disabled", to: "closed" }],
    ]);
  });

  test("a state change without calls is published with null rates", async () => {
    const { breaker } = breakerOnClock();
    const heard = recordBreakerEvents();
    await breaker.for("eu").forceOpen();
    expect(heard).toMatchObject([
      ["state", { target: "eu", calls: 0, successRate: null, slowCallRate: null }],
    ]);
  });

  test("two breakers of the same name publish a shared state change once", async () => {
    const { breaker, store } = breakerOnClock();
    const other = createBreaker({ name: "payments", store, minimumCalls: 4, trialCalls: 2 });
    const heard = recordBreakerEvents();
    await breaker.forceOpen();
    await other.admit();
    await other.snapshot();
    expect(heard.filter(([what]) => what === "state")).toHaveLength(1);
  });

  test("a state change that another breaker caused is published with causedHere: false", async () => {
    const { breaker: before, store } = breakerOnClock();
    await before.forceOpen();
    await before.close();
    const heard = recordBreakerEvents();
    const after = createBreaker({ name: "payments", store, minimumCalls: 4, trialCalls: 2 });
    expect(heard).toEqual([]);
    await after.snapshot();
    expect(heard).toMatchObject([
      ["state", { from: "closed", to: "forced-open", causedHere: false, degraded: false }],
    ]);
  });

  test("a target that was never anything but closed publishes no state change", async () => {
    const { breaker, count } = breakerOnClock();
    const heard = recordBreakerEvents();
    await count(4, 0);
    await breaker.run(() => 1);
    await breaker.snapshot();
    expect(heard).toEqual([]);
  });
});

describe("rejected calls", () => {
  test("every rejected call is published, from run with or without a fallback and from admit", async () => {
    const { breaker, count, advance } = breakerOnClock();
    await count(0, 4);
    advance(10_000);
    const heard = recordBreakerEvents();
    await breaker.run(() => 1).catch(() => {});
    await breaker.run(() => 1, { fallback: () => 2 });
    await breaker.admit();
    const rejected = ["rejected", { ...payments, state: "open", retryAfterMs: 20_000 }];
    expect(heard).toEqual([rejected, rejected, rejected]);
  });

  test("a call rejected by forceOpen is published with a retryAfterMs of Infinity, as in the caller's error", async () => {
    const { breaker } = breakerOnClock();
    const eu = breaker.for("eu");
    await eu.forceOpen();
    const heard = recordBreakerEvents();
    const error = await eu.run(() => 1).catch((thrown: object) => thrown);
    expect(heard).toEqual([
      [
        "rejected",
        {
          breaker: "payments",
          target: "eu",
          state: "forced-open",
          retryAfterMs: Number.POSITIVE_INFINITY,
          degraded: false,
        },
      ],
    ]);
    expect(error).toMatchObject(heard[0]?.[1] as object);
  });

  test("calls that are let through or aborted are not published as rejected", async () => {
    const { breaker } = breakerOnClock();
    const heard = recordBreakerEvents();
    await breaker.run(() => 1);
    await breaker.admit();
    await breaker.run(() => 1, { signal: AbortSignal.abort() }).catch(() => {});
    expect(heard).toEqual([]);
  });

  test("the message of a rejected call is created only for subscribers", () => {
    const describeCall = vi.fn(() => ({ ...payments, state: "open", retryAfterMs: 1 }) as const);
    publishRejected(describeCall);
    expect(describeCall).not.toHaveBeenCalled();
    const heard = recordBreakerEvents();
    publishRejected(describeCall);
    expect(describeCall).toHaveBeenCalledOnce();
    expect(heard).toHaveLength(1);
  });
});

describe("outcomes of calls", () => {
  test("the outcome of every call is published, whether or not it counts", async () => {
    const { breaker, count, advance } = breakerOnClock({ slowCall: 10 });
    const heard = recordChannelEvents("call");
    await breaker.run(() => 1);
    await breaker.record("failure", 11);
    const late = await breaker.admit();
    await count(0, 4);
    // The breaker is open now, and would reject this call.
    await late.record("success");
    await breaker.run(() => 1, { fallback: () => 2 });
    advance(30_000);
    await (await breaker.admit()).release();
    await (await breaker.admit()).record("failure");
    const call = { breaker: "payments", target: "default", slow: false };
    const failure = { ...call, outcome: "failure" };
    const success = { ...call, outcome: "success" };
    expect(heard.map(([, message]) => message)).toEqual([
      success,
      { ...failure, slow: true },
      ...Array(4).fill(failure),
      success,
      failure,
    ]);
  });
});

test("every reply of the store is published as the target's snapshot", async () => {
  const { breaker, count } = breakerOnClock();
  const heard = recordChannelEvents("snapshot");
  await count(1, 2);
  expect(heard).toHaveLength(3);
  expect(heard.at(-1)).toEqual([
    "snapshot",
    { breaker: "payments", target: "default", ...(await breaker.snapshot()) },
  ]);
});

test("an error thrown by a subscriber neither fails a call nor ends the process", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const settled = watchUnhandled();
  const { breaker, count } = breakerOnClock();
  for (const channel of Object.values(BREAKER_CHANNELS)) {
    const fail = (): never => {
      throw new Error("a bug");
    };
    subscribe(channel, fail);
    onTestFinished(() => void unsubscribe(channel, fail));
  }
  await count(0, 4);
  expect(await breaker.run(() => 1, { fallback: () => 2 })).toBe(2);
  await settled();
  warn.mockRestore();
});
