import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hearBreakers } from "../../support/hear-breakers.ts";
import { hearWarnings } from "./hear-warnings.ts";
import { holdBreaker, letRun, pass } from "./held-breaker.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** An error after which the store is asked again, the next time. */
const refused = new HeadgateError("HEADGATE_STORE_MISCONFIGURED", "no right");

/** A breaker on a store of which each call is carried out, or fails, as the test says. */
function start(options = {}) {
  const world = holdBreaker({ flushInterval: 0, ...options });
  let error: Error | undefined;
  return {
    ...world,
    /** What is asked fails from now on; or does not, without an error. */
    failWith(next: Error | undefined) {
      error = next;
    },
    async answer<T>(asking: Promise<T>): Promise<T> {
      // Whether it rejects is for the test to see.
      asking.catch(() => {});
      await letRun();
      const { held } = world;
      for (let call = held.shift(); call !== undefined; call = held.shift()) {
        await (error === undefined ? call.carryOut() : call.fail(error));
      }
      return asking;
    },
  };
}

describe("while the store is away", () => {
  test("calls go on, and it is told once for each target and outage", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = start();
    const heard = hearBreakers();
    const degraded = (target: string) => [
      "degraded",
      { breaker: "payments", target, reason: refused },
    ];
    failWith(refused);
    expect(await answer(breaker.admit())).toMatchObject({ allowed: true, degraded: true });
    expect(await answer(breaker.run(() => "fine"))).toBe("fine");
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 1, degraded: true });
    expect(heard).toEqual([degraded("default")]);
    await answer(breaker.for("eu").admit());
    expect(heard).toEqual([degraded("default"), degraded("eu")]);
    failWith(undefined);
    expect(await answer(breaker.snapshot())).toMatchObject({ degraded: false });
    failWith(refused);
    await answer(breaker.admit());
    expect(heard).toEqual([degraded("default"), degraded("eu"), degraded("default")]);
  });

  test("it does not open because of that, and opens by what this process sees", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = start();
    const heard = hearBreakers();
    failWith(refused);
    for (let i = 0; i < 20; i += 1) {
      expect((await answer(breaker.admit())).allowed).toBe(true);
    }
    for (let i = 0; i < 4; i += 1) await answer(breaker.record("failure"));
    expect(await answer(breaker.admit())).toMatchObject({
      allowed: false,
      state: "open",
      retryAfterMs: 30_000,
      degraded: true,
    });
    expect(heard.slice(1)).toMatchObject([
      ["state", { from: "closed", to: "open", here: true, calls: 4, opened: 1, degraded: true }],
      ["rejected", { state: "open", degraded: true }],
    ]);
    const error = await answer(breaker.run(() => 1)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "HEADGATE_BREAKER_OPEN", degraded: true });
  });

  test("it begins with what this process counted before, and with the state of the fleet", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = start();
    for (let i = 0; i < 2; i += 1) await answer(breaker.record("failure"));
    await peer.record("success");
    failWith(refused);
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 2, failures: 2 });
    for (let i = 0; i < 2; i += 1) await answer(breaker.record("failure"));
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "open", opened: 1 });
  });

  test("what the fleet had opened stays so for the time that was left, and counts on", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = start({
      openFor: (opened: number) => opened * 10_000,
    });
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await answer(breaker.snapshot());
    failWith(refused);
    await pass(4_000);
    expect(await answer(breaker.snapshot())).toMatchObject({
      state: "open",
      opened: 1,
      retryAfterMs: 6_000,
      degraded: true,
    });
    await pass(6_000);
    const trials = [await answer(breaker.admit()), await answer(breaker.admit())];
    for (const trial of trials) {
      expect(trial).toMatchObject({ allowed: true, state: "half-open", degraded: true });
      await answer(trial.record("failure"));
    }
    expect(await answer(breaker.snapshot())).toMatchObject({ opened: 2, retryAfterMs: 20_000 });
  });

  test.each([
    ["forceOpen", "forced-open"],
    ["disable", "disabled"],
    ["metricsOnly", "metrics-only"],
  ] as const)("%s that was ordered before is known in it", async (order, state) => {
    hearWarnings();
    const { breaker, answer, failWith } = start();
    await answer(breaker[order]());
    failWith(refused);
    expect(await answer(breaker.admit())).toMatchObject({ state, degraded: true });
  });

  test.each([
    ["forceOpen", "forced-open"],
    ["disable", "disabled"],
    ["metricsOnly", "metrics-only"],
    ["reset", "closed"],
  ] as const)("%s rejects, and holds in this process alone", async (order, state) => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = start();
    const heard = hearBreakers();
    for (let i = 0; i < 4; i += 1) await answer(breaker.record("failure"));
    failWith(refused);
    await expect(answer(breaker[order]())).rejects.toBe(refused);
    expect(heard.filter(([what]) => what === "degraded")).toHaveLength(1);
    expect(await answer(breaker.admit())).toMatchObject({
      allowed: state !== "forced-open",
      state,
      degraded: true,
    });
    expect(await answer(breaker.snapshot())).toMatchObject({
      state,
      calls: state === "closed" ? 0 : 4,
      opened: 0,
    });
    expect((await peer.snapshot()).state).toBe("open");
    failWith(undefined);
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "open", degraded: false });
  });

  test("the state of the fleet counts as soon as the store answers", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = start();
    failWith(refused);
    for (let i = 0; i < 4; i += 1) await answer(breaker.record("failure"));
    failWith(undefined);
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "closed", degraded: false });
    expect(await answer(breaker.admit())).toMatchObject({ allowed: true, degraded: false });
  });

  test("an order that succeeds ends it", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = start();
    failWith(refused);
    await answer(breaker.admit());
    failWith(undefined);
    await answer(breaker.forceOpen());
    failWith(refused);
    expect(await answer(breaker.admit())).toMatchObject({ state: "forced-open", degraded: true });
  });
});

test("a call that the fleet let through before is counted in an outage", async () => {
  hearWarnings();
  const { breaker, peer, answer, failWith } = start();
  await peer.reset();
  const permit = await answer(breaker.admit());
  failWith(refused);
  await answer(breaker.snapshot());
  await answer(permit.record("failure"));
  expect(await answer(breaker.snapshot())).toMatchObject({ calls: 1, degraded: true });
});

describe("a call that was let through by this process alone", () => {
  test("is counted by the fleet, when the store is back", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = start({ flushInterval: 250 });
    await peer.reset();
    failWith(refused);
    const permit = await answer(breaker.admit());
    expect(permit).toMatchObject({ allowed: true, degraded: true });
    await permit.record("failure");
    failWith(undefined);
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 1, degraded: false });
    expect(await peer.snapshot()).toMatchObject({ calls: 1, failures: 1 });
  });

  test("is counted, too, when it ends while the store is found to be back", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith, held } = start({ flushInterval: 250 });
    await peer.reset();
    failWith(refused);
    const permits = [await answer(breaker.admit()), await answer(breaker.admit())];
    failWith(undefined);
    const look = breaker.snapshot();
    await letRun();
    await permits[0]?.record("failure");
    await held.shift()?.carryOut();
    expect(await look).toMatchObject({ degraded: false });
    await permits[1]?.record("failure");
    await breaker.record("success");
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 3, failures: 2 });
    expect(await peer.snapshot()).toMatchObject({ calls: 3, failures: 2 });
  });
});

describe("what this process counts by itself", () => {
  test("is emptied when the fleet closes the target", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = start();
    for (let i = 0; i < 3; i += 1) await answer(breaker.record("failure"));
    await peer.record("failure");
    await answer(breaker.snapshot());
    await peer.reset();
    await answer(breaker.snapshot());
    failWith(refused);
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
  });

  test("is all of it, though by itself it would have opened, from one outage to the next", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = start();
    for (let i = 0; i < 10; i += 1) await peer.record("success");
    for (let outages = 1; outages <= 2; outages += 1) {
      for (let i = 0; i < 3; i += 1) await answer(breaker.record("failure"));
      for (let i = 0; i < 3; i += 1) await answer(breaker.record("success"));
      failWith(refused);
      expect(await answer(breaker.snapshot())).toMatchObject({
        calls: outages * 6,
        failures: outages * 3,
        degraded: true,
      });
      failWith(undefined);
      await answer(breaker.snapshot());
    }
  });

  test("is emptied by a reset elsewhere", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = start();
    for (let i = 0; i < 3; i += 1) await answer(breaker.record("failure"));
    await peer.reset();
    await answer(breaker.snapshot());
    failWith(refused);
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "closed", calls: 0 });
  });

  test("is kept when the fleet opens the target", async () => {
    hearWarnings();
    const { breaker, peer, answer, failWith } = start();
    for (let i = 0; i < 3; i += 1) await answer(breaker.record("failure"));
    await peer.record("failure");
    await answer(breaker.snapshot());
    failWith(refused);
    expect(await answer(breaker.snapshot())).toMatchObject({ state: "open", calls: 3 });
  });

  test("is kept through an outage, for the next one", async () => {
    hearWarnings();
    const { breaker, answer, failWith } = start();
    for (const next of [refused, undefined, refused]) {
      failWith(next);
      await answer(breaker.record("failure"));
    }
    expect(await answer(breaker.snapshot())).toMatchObject({ calls: 3, degraded: true });
  });
});

describe("what is no answer", () => {
  test.each([
    new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "gone"),
    new HeadgateError("HEADGATE_SLOT_UNAVAILABLE", "moving"),
    new HeadgateError("HEADGATE_FOREIGN_KEY", "foreign"),
    new HeadgateError("HEADGATE_BAD_REPLY", "odd"),
    refused,
  ])("is the store's trouble: $code", async (error) => {
    const warnings = hearWarnings();
    const { breaker, answer, failWith } = start();
    const heard = hearBreakers();
    failWith(error);
    expect(await answer(breaker.admit())).toMatchObject({ allowed: true, degraded: true });
    expect(heard).toMatchObject([["degraded", { reason: { code: error.code } }]]);
    expect(warnings.map((warning) => warning.split(":")[0])).toEqual([
      error.code === "HEADGATE_STORE_UNAVAILABLE" ? "HEADGATE_STORE_DOWN" : error.code,
    ]);
    await answer(breaker.close());
  });

  test.each([
    ["of a foreign key", "HEADGATE_FOREIGN_KEY", [-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
    ["that no script gives", "HEADGATE_BAD_REPLY", [0, 0]],
  ])("but a reply %s, is the store's trouble", async (_, code, reply) => {
    hearWarnings();
    const { breaker, take } = holdBreaker();
    const heard = hearBreakers();
    const asking = breaker.admit();
    await letRun();
    await take().answer(reply);
    expect(await asking).toMatchObject({ allowed: true, degraded: true });
    expect(heard).toMatchObject([["degraded", { reason: { code } }]]);
    const ordering = breaker.forceOpen();
    await letRun();
    await Promise.all([expect(ordering).rejects.toMatchObject({ code }), take().answer(reply)]);
  });

  test("in time is the store's trouble: it is waited for no longer than storeTimeout", async () => {
    hearWarnings();
    const { breaker, take } = holdBreaker({ storeTimeout: 100 });
    const asking = breaker.admit();
    let isAnswered = false;
    asking.then(
      () => {
        isAnswered = true;
      },
      () => {},
    );
    await letRun();
    const asked = take();
    await pass(99);
    expect(isAnswered).toBe(false);
    await pass(5);
    expect(await asking).toMatchObject({ allowed: true, degraded: true });
    // What comes after is no news.
    await asked.carryOut();
    expect(await breaker.admit()).toMatchObject({ degraded: true });
    await breaker.close();
  });

  test("but a fault of the application is its own trouble: calls say so, and reports warn", async () => {
    const warnings = hearWarnings();
    const fault = new HeadgateError("HEADGATE_INVALID_OPTION", "clock must return milliseconds");
    const { breaker, answer, failWith, held } = start({ flushInterval: 250 });
    const heard = hearBreakers();
    failWith(fault);
    await expect(answer(breaker.admit())).rejects.toBe(fault);
    await expect(answer(breaker.run(() => 1))).rejects.toBe(fault);
    await expect(answer(breaker.snapshot())).rejects.toBe(fault);
    await breaker.record("failure");
    await pass(250);
    await held.shift()?.fail(new TypeError("a bug"));
    expect(warnings).toEqual([
      "HEADGATE_BAD_REPLY: Headgate: outcomes were not counted: TypeError: a bug",
    ]);
    await breaker.record("failure");
    await pass(250);
    await held.shift()?.fail(fault);
    expect(warnings[1]).toBe(
      "HEADGATE_INVALID_OPTION: Headgate: outcomes were not counted: HeadgateError: clock must return milliseconds",
    );
    expect(heard).toEqual([]);
    // And the next time it is sent as ever.
    await breaker.record("failure");
    await pass(250);
    expect(held).toHaveLength(1);
  });

  test("nor does a clock that tells no time end a process, before anybody is told of it", async () => {
    hearWarnings();
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { options, take } = holdBreaker();
    const store = { ...(options.store as Store), owner: {}, now: () => Number.NaN };
    const breaker = createBreaker({ ...options, store });
    const asking = breaker.admit();
    await letRun();
    await Promise.all([
      expect(asking).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" }),
      take().fail(refused),
    ]);
    vi.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    await breaker.close();
  });

  test("nor does it end a process, where nobody waits for what was asked", async () => {
    const fault = new TypeError("a bug");
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { breaker, peer, answer, held } = start({ probeTimeout: 50 });
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await pass(30_000);
    // A trial call that takes too long, and one that ends.
    await answer(breaker.admit());
    const ending = breaker.run(() => 1);
    await letRun();
    await held.shift()?.carryOut();
    expect(await ending).toBe(1);
    expect(held).toHaveLength(1);
    for (const call of held.splice(0)) await call.fail(fault);
    await pass(50);
    for (const call of held.splice(0)) await call.fail(fault);
    // A trial call whose caller left while the store was asked.
    await answer(breaker.reset());
    for (let i = 0; i < 4; i += 1) await peer.record("failure");
    await answer(breaker.snapshot());
    await pass(30_000);
    const controller = new AbortController();
    const running = breaker.run(() => 1, { signal: controller.signal });
    running.catch(() => {});
    await letRun();
    controller.abort();
    await held.shift()?.carryOut();
    expect(held).toHaveLength(1);
    for (const call of held.splice(0)) await call.fail(fault);
    vi.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
