import { once } from "node:events";
import { stat } from "node:fs";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { MockInstance } from "vitest";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sendBy } from "../../../../test/support/send-by.ts";
import { HeadgateError } from "../common/errors.ts";
import { probe as probeStep } from "../operations/probe.ts";
import type { CountingStore, Operation, ScriptTransport } from "../store/store.ts";
import { brandStore } from "../store/store.ts";
import { ConnectGrace } from "./connect-grace.ts";
import { EventLoopClock } from "./event-loop-clock.ts";
import type { OnLateReply } from "./server-monitor.ts";
import { ServerMonitor } from "./server-monitor.ts";

const unavailable = new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "gone");
const misconfigured = new HeadgateError("HEADGATE_STORE_MISCONFIGURED", "no right");

interface Client {
  client?: object;
  timeoutMs?: number;
  connectMs?: number;
  lastError?: () => Error | undefined;
  connectsTo?: "one" | "several";
}

const REMOTE: ScriptTransport = {
  send() {},
  hashSlotOf: () => 0,
  nodeOf: () => "",
  isCrossSlotError: () => false,
  refreshTopology() {},
  lastError: () => undefined,
};

/** A call of a store that answers as `send` does, and is probed by `askAgain`. */
function callOf(
  send: () => Promise<unknown>,
  askAgain: () => Promise<unknown>,
): [store: CountingStore, step: Operation<string>, call: string, key: string] {
  const run = askAgain as CountingStore["run"];
  const store = { owner: {}, prefix: "hg", now: () => 0, run };
  const remote = { ...REMOTE, send: sendBy(send as CountingStore["run"]) };
  return [brandStore({ ...store, transport: remote }), probeStep, "", "hg:{u}:a"];
}

/** A server of which each call ends as the test says. Its client has answered before, unless it has time to connect. */
function start({
  client = {},
  timeoutMs = 100,
  connectMs = 0,
  lastError = () => undefined,
  connectsTo = "one",
}: Client = {}) {
  const events: string[] = [];
  const probes: { readonly of: string; resolve(): void; reject(error: Error): void }[] = [];
  const remote = { ...REMOTE, lastError, connectsTo };
  const monitor = new ServerMonitor({
    timeoutMs,
    clock: new EventLoopClock(),
    connectGrace: new ConnectGrace(client, remote, timeoutMs, connectMs),
    isUnavailable: (error): error is HeadgateError =>
      error instanceof HeadgateError && error.code === "HEADGATE_STORE_UNAVAILABLE",
    unansweredError: (withinMs) =>
      new HeadgateError(
        "HEADGATE_STORE_UNAVAILABLE",
        withinMs === undefined
          ? "not connected"
          : withinMs === 100
            ? "late"
            : `late, ${withinMs} ms`,
      ),
    onSilence: () => events.push("silence"),
    onProbeFailure: (error) => events.push(`probe: ${error.message}`),
    onDown: (reason) => events.push(`down: ${reason.message}`),
    onUp: (downMs, rejectedCalls) =>
      events.push(`up after ${Math.round(downMs)}, ${rejectedCalls} rejected`),
  });
  function call(of = "any", late?: (reply: unknown) => void, waitedMs = 0) {
    const probe = (): Promise<void> =>
      new Promise((resolve, reject) => {
        probes.push({ of, resolve, reject });
      });
    const outcome = { state: "waiting", at: Number.NaN };
    let end = { resolve: (_: string) => {}, reject: (_: Error) => {} };
    const sent = vi.fn(
      () =>
        new Promise<string>((resolve, reject) => {
          end = { resolve, reject };
        }),
    );
    const settle = (state: string): void => {
      Object.assign(outcome, { state, at: performance.now() });
    };
    monitor
      .run(...callOf(sent, probe), waitedMs, late as OnLateReply<unknown> | undefined)
      .then(settle as never, (error: Error) => settle(error.message));
    return {
      outcome,
      sent,
      resolve: (text: string) => end.resolve(text),
      reject: (error: Error) => end.reject(error),
    };
  }
  return { monitor, events, probes, call };
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a server that answers", () => {
  test("replies and errors of a server are passed on", async () => {
    const { call, events } = start();
    const good = call();
    const bad = call();
    await pass(99);
    good.resolve("yes");
    bad.reject(misconfigured);
    await pass(0);
    expect(good.outcome.state).toBe("yes");
    expect(bad.outcome.state).toBe("no right");
    await pass(1_000);
    expect(events).toEqual([]);
  });

  test("a server monitor has one timer for all calls, and none without calls", async () => {
    const { call } = start();
    const calls = Array.from({ length: 1_000 }, () => call());
    expect(vi.getTimerCount()).toBe(1);
    for (const one of calls) one.resolve("yes");
    await pass(101);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a silent server", () => {
  test("calls to a silent server time out individually, and the server is down from the first timeout", async () => {
    const { call, events } = start();
    const first = call();
    await pass(60);
    const second = call();
    await pass(41);
    expect(first.outcome.state).toBe("late");
    expect(second.outcome.state).toBe("waiting");
    expect(events).toEqual(["down: late"]);
    const third = call();
    await pass(0);
    expect(third.outcome).toEqual({ state: "late", at: performance.now() });
    expect(third.sent).not.toHaveBeenCalled();
    await pass(61);
    expect(second.outcome.state).toBe("late");
    expect(events).toHaveLength(1);
  });

  test.each([
    ["steps back", -3_600_000],
    ["gives no time", Number.NaN],
  ])("is waited for without end, because the process's clock %s", async (_, change) => {
    const { call } = start();
    const one = call();
    const { now } = performance;
    vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) + change);
    await pass(101);
    vi.restoreAllMocks();
    expect(one.outcome.state).toBe("late");
  });

  test("a server is up again, and receives calls, after the first probe answered in time", async () => {
    const { call, events, probes } = start();
    call();
    await pass(101);
    call();
    call();
    await pass(20);
    expect(probes).toHaveLength(1);
    probes[0]?.resolve();
    await pass(0);
    expect(events).toEqual(["down: late", expect.stringMatching(/^up after \d+, 2 rejected$/)]);
    const next = call();
    expect(next.sent).toHaveBeenCalledTimes(1);
    next.resolve("yes");
    await pass(0);
    expect(next.outcome.state).toBe("yes");
  });

  test("while a server is silent, the client refreshes its topology each second", async () => {
    const { call, events, probes } = start();
    call();
    await pass(101);
    await pass(3_050);
    expect(events.filter((event) => event === "silence")).toHaveLength(3);
    probes[0]?.resolve();
    await pass(30);
    probes[1]?.resolve();
    await pass(0);
    expect(events.at(-1)).toMatch(/^up/);
    await pass(10);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("late replies do not mark a server as up", async () => {
    const { call, events, monitor } = start();
    const late = call();
    await pass(101);
    late.resolve("yes");
    await pass(0);
    expect(late.outcome.state).toBe("late");
    expect(events).toEqual(["down: late"]);
    expect(monitor.downReason).toBeDefined();
  });

  test("the caller is notified of a late reply, and of a call that the store could not answer", async () => {
    const { call } = start();
    const lateReplies: unknown[] = [];
    const inTime = call("any", (reply) => lateReplies.push(["in time", reply]));
    const late = call("any", (reply) => lateReplies.push(["late", reply]));
    const thrown = call("any", () => {
      throw new Error("of a listener");
    });
    const lost = call("any", (reply) => lateReplies.push(["lost", reply]));
    const refused = call("any", (reply) => lateReplies.push(["refused", reply]));
    const shortened = call("any", (reply) => lateReplies.push(["shortened", reply]), 50);
    inTime.resolve("yes");
    refused.reject(misconfigured);
    await pass(60);
    expect(shortened.outcome.state).toBe("late");
    shortened.resolve("yes");
    await pass(41);
    expect(lateReplies).toEqual([["shortened", "yes"]]);
    thrown.resolve("yes");
    late.resolve("yes");
    lost.reject(unavailable);
    await pass(0);
    expect(lateReplies.slice(1)).toEqual([
      ["late", "yes"],
      ["lost", undefined],
    ]);
    call().reject(unavailable);
    await pass(0);
    const unsent = call("any", (reply) => lateReplies.push(["unsent", reply]));
    await pass(0);
    expect(unsent.sent).not.toHaveBeenCalled();
    expect(lateReplies).toHaveLength(3);
  });

  test("a server is not down if only this process was stalled", async () => {
    vi.useRealTimers();
    const { monitor, events } = start();
    // A server of a thread of its own, so that its answer comes while this thread does something else.
    const worker = new Worker(
      `const server = require("node:net").createServer((socket) => socket.pipe(socket));
      server.listen(0, "127.0.0.1", () => require("node:worker_threads").parentPort.postMessage(server.address().port));`,
      { eval: true },
    );
    const [port] = await once(worker, "message");
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    const answer = async (): Promise<string> => {
      socket.write("yes");
      const [text] = await once(socket, "data");
      return String(text);
    };
    // Where answers are read, so that timers are next, before what has arrived meanwhile.
    const sent = await new Promise<{ readonly reply: Promise<unknown> }>((resolve) => {
      stat(".", () => {
        resolve({ reply: monitor.run(...callOf(answer, async () => {})) });
        const end = performance.now() + 250;
        while (performance.now() < end);
      });
    });
    expect(await sent.reply).toBe("yes");
    expect(events).toEqual([]);
    socket.destroy();
    await worker.terminate();
  });
});

describe("a process that did not run", () => {
  let stalled = 0;
  beforeEach(() => {
    stalled = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + stalled);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** Lets so much time pass for the clock, and none for timers. */
  function stall(ms: number): void {
    stalled += ms;
  }

  test("time in which the process did not run does not count as waiting", async () => {
    const { call, events } = start();
    const one = call();
    await pass(50);
    stall(60_000);
    await pass(20);
    expect(one.outcome.state).toBe("waiting");
    one.resolve("yes");
    await pass(0);
    expect(one.outcome.state).toBe("yes");
    expect(events).toEqual([]);
  });

  test("a process that runs only now and then still times out in the end", async () => {
    const { call } = start();
    const one = call();
    let beats = 0;
    for (; one.outcome.state === "waiting" && beats < 20; beats += 1) {
      stall(1_000);
      await pass(10);
    }
    expect(one.outcome.state).toBe("late");
    // Of each second 15 ms count; then what has arrived is read.
    expect(beats).toBeGreaterThanOrEqual(7);
    expect(beats).toBeLessThan(10);
  });

  test("time in which the process did not run does not count for a probe either", async () => {
    const { call, events, probes } = start();
    call().reject(unavailable);
    await pass(20);
    stall(60_000);
    await pass(10);
    probes[0]?.resolve();
    await pass(0);
    expect(events.at(-1)).toMatch(/^up/);
  });
});

describe("a client that has never answered", () => {
  test("calls wait until the client has connected, and earlier calls no longer than others after that", async () => {
    const { call, events } = start({ connectMs: 1_000 });
    const first = call();
    await pass(500);
    const second = call();
    await pass(499);
    expect([first.outcome.state, second.outcome.state]).toEqual(["waiting", "waiting"]);
    first.resolve("yes");
    await pass(99);
    expect([first.outcome.state, second.outcome.state]).toEqual(["yes", "waiting"]);
    expect(events).toEqual([]);
    second.resolve("yes");
    await pass(0);
    expect(second.outcome.state).toBe("yes");
  });

  test("connectTimeout counts from the client's first use, and later calls do not wait for it again", async () => {
    const { call, events, probes } = start({ connectMs: 1_000 });
    const first = call();
    await pass(600);
    const second = call();
    await pass(401);
    expect([first.outcome.state, second.outcome.state]).toEqual(["late, 1000 ms", "late, 1000 ms"]);
    expect(events).toEqual(["down: late, 1000 ms"]);
    await pass(20);
    probes[0]?.resolve();
    await pass(0);
    expect(events.at(-1)).toMatch(/^up/);
    const third = call();
    await pass(101);
    expect(third.outcome.state).toBe("late");
  });

  test("after the first reply, calls wait for at most storeTimeout", async () => {
    const { call } = start({ connectMs: 1_000 });
    call().resolve("yes");
    await pass(20);
    const second = call();
    await pass(101);
    expect(second.outcome.state).toBe("late");
  });

  test.each([100, 60_000])(
    "after the first reply to calls with a storeTimeout of %i ms, all calls wait for at most storeTimeout",
    async (timeoutMs) => {
      const client = {};
      start({ client, timeoutMs, connectMs: 1_000 }).call().resolve("yes");
      await pass(20);
      const { call } = start({ client, connectMs: 1_000 });
      const second = call();
      await pass(101);
      expect(second.outcome.state).toBe("late");
    },
  );

  test("calls do not wait for a client that reported a connection error", async () => {
    let lastError: Error | undefined;
    const { call, events } = start({ connectMs: 1_000, lastError: () => lastError });
    const one = call();
    await pass(20);
    lastError = new Error("connect ECONNREFUSED");
    await pass(11);
    expect(one.outcome.state).toBe("not connected");
    expect(events).toEqual(["down: not connected"]);
  });

  test("one unreachable server of a cluster ends the longer wait for the first connection", async () => {
    let lastError: Error | undefined;
    const { call } = start({ connectMs: 1_000, lastError: () => lastError, connectsTo: "several" });
    const one = call();
    await pass(20);
    lastError = new Error("connect ECONNREFUSED");
    await pass(79);
    expect(one.outcome.state).toBe("waiting");
    await pass(12);
    expect(one.outcome.state).toBe("late");
  });

  test("a client that failed to connect before its first use gets no longer wait", async () => {
    const { call } = start({ connectMs: 1_000, lastError: () => new Error("earlier") });
    const one = call();
    await pass(99);
    expect(one.outcome.state).toBe("waiting");
    await pass(2);
    expect(one.outcome.state).toBe("late");
  });
});

describe("a server whose calls fail", () => {
  test("a server is down if a call failed and nothing was answered since it was sent", async () => {
    const { call, events } = start();
    const one = call();
    one.reject(unavailable);
    await pass(0);
    expect(one.outcome.state).toBe("gone");
    expect(events).toEqual(["down: gone"]);
  });

  test("a server is not down if another call was answered since, or if the error is permanent", async () => {
    const { call, events } = start();
    const slow = call();
    await pass(50);
    const quick = call();
    await pass(10);
    quick.resolve("yes");
    await pass(41);
    expect(slow.outcome.state).toBe("late");
    const refused = call();
    refused.reject(misconfigured);
    await pass(0);
    expect(events).toEqual([]);
  });

  test("a server is not down if the call before the last was answered after the last was sent", async () => {
    const { call, events } = start();
    const first = call();
    await pass(10);
    const last = call();
    await pass(10);
    first.resolve("yes");
    await pass(100);
    expect(last.outcome.state).toBe("late");
    expect(events).toEqual([]);
  });

  test("a server that is up again is not down because a call from before that times out", async () => {
    const { call, events, probes } = start();
    const failing = call();
    await pass(60);
    const slow = call();
    failing.reject(unavailable);
    await pass(20);
    probes[0]?.resolve();
    await pass(0);
    expect(events).toEqual(["down: gone", expect.stringMatching(/^up /)]);
    await pass(100);
    expect(slow.outcome.state).toBe("late");
    expect(events).toHaveLength(2);
  });

  test("a server that was lost again soon is probed less often, and after a steady time as often as before", async () => {
    const { call, events, probes } = start();
    const waits: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      // Steady again before the last.
      if (i === 5) await pass(5_001);
      call().reject(unavailable);
      await pass(0);
      const down = performance.now();
      const { length } = probes;
      while (probes.length === length) await pass(1);
      waits.push(performance.now() - down);
      probes.at(-1)?.resolve();
      await pass(0);
    }
    expect(events).toHaveLength(12);
    expect(waits[4]).toBeGreaterThanOrEqual(160);
    expect(waits[5]).toBeLessThanOrEqual(21);
  });
});

describe("a probe", () => {
  /** Time for the next one, whatever failed before it. */
  const NEXT_MS = 501;
  /** For the first, which comes early enough to be answered in time. */
  const SOON_MS = 21;

  test("probes use the keys of the last rejected and the first failed call in turn", async () => {
    const { call, probes } = start();
    call("first").reject(unavailable);
    await pass(0);
    call("second");
    for (const next of ["third", "fourth", "fifth"]) {
      await pass(NEXT_MS);
      call(next);
      probes.at(-1)?.reject(unavailable);
    }
    await pass(NEXT_MS);
    expect(probes.map(({ of }) => of)).toEqual(["second", "first", "fourth", "first"]);
  });

  test("probes use the failed call's key if no call was rejected", async () => {
    const { call, probes } = start();
    call("only").reject(unavailable);
    for (let i = 0; i < 2; i += 1) {
      await pass(NEXT_MS);
      probes.at(-1)?.reject(unavailable);
    }
    expect(probes.map(({ of }) => of)).toEqual(["only", "only"]);
  });

  test("a successful probe of either key ends the outage", async () => {
    const { call, events, probes } = start();
    call("lost slot").reject(unavailable);
    await pass(0);
    call("fine");
    await pass(SOON_MS);
    probes[0]?.resolve();
    await pass(0);
    expect(events.at(-1)).toMatch(/^up/);
  });

  test("a failed probe's error becomes the reason of the outage", async () => {
    const { call, events, probes, monitor } = start();
    call().reject(unavailable);
    await pass(SOON_MS);
    probes[0]?.reject(misconfigured);
    await pass(0);
    expect(monitor.downReason).toBe(misconfigured);
    const refused = call();
    await pass(0);
    expect(refused.outcome.state).toBe("no right");
    expect(events).toEqual(["down: gone", "probe: no right"]);
    await pass(2 * SOON_MS);
    probes[1]?.resolve();
    await pass(0);
    expect(events.at(-1)).toMatch(/^up/);
    expect(monitor.downReason).toBeUndefined();
  });

  test("an error that is not Headgate's does not change the reason of the outage", async () => {
    const { call, events, probes, monitor } = start();
    call().reject(unavailable);
    await pass(NEXT_MS);
    probes[0]?.reject(new TypeError("no such method"));
    await pass(0);
    expect(monitor.downReason).toBe(unavailable);
    expect(events).toEqual(["down: gone"]);
  });
});

describe("the process is kept alive", () => {
  let timers: MockInstance<typeof setTimeout>;
  beforeEach(() => {
    vi.useRealTimers();
    timers = vi.spyOn(globalThis, "setTimeout");
  });
  afterEach(() => {
    timers.mockRestore();
  });

  /** Whether Node waits for the timer that was made last before it ends the process. */
  const isAwaited = (): boolean | undefined => timers.mock.results.at(-1)?.value.hasRef();

  /** Lets replies be handled, and no timer run. */
  async function settle(): Promise<void> {
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
  }

  test("calls keep the process alive while they wait, and at most until the next tick of 10 ms", async () => {
    const { call } = start();
    const [first, second] = [call(), call()];
    expect(isAwaited()).toBe(true);
    first.resolve("yes");
    await settle();
    expect(isAwaited()).toBe(true);
    second.reject(misconfigured);
    // The timer runs before this one, and no other follows.
    await delay(20);
    const timerCount = timers.mock.calls.length;
    await delay(40);
    expect(timers.mock.calls.length).toBe(timerCount);
    const third = call();
    expect(timers.mock.calls.length).toBe(timerCount + 1);
    expect(isAwaited()).toBe(true);
    third.resolve("yes");
    await delay(20);
  });

  test("a call made after another was answered keeps the process alive until it times out", async () => {
    const { call, monitor } = start();
    call().resolve("yes");
    await delay(60);
    const later = call();
    // The first one's timer runs out in between.
    await delay(60);
    expect(later.outcome.state).toBe("waiting");
    expect(isAwaited()).toBe(true);
    await expect.poll(() => later.outcome.state).toBe("late");
    expect(isAwaited()).toBe(false);
    monitor.stop();
  });

  test("a server that is down does not keep the process alive", async () => {
    const { call, monitor } = start();
    call().reject(unavailable);
    await settle();
    expect(monitor.downReason).toBe(unavailable);
    await delay(40);
    // After the first timer, that of its calls: neither those of later ticks, nor that of its probes.
    const later = timers.mock.results.slice(1).map(({ value }) => value.hasRef());
    expect(new Set(later)).toEqual(new Set([false]));
    monitor.stop();
  });
});

test("a stopped monitor sends no more probes, and calls in flight still time out", async () => {
  const { call, probes, monitor } = start();
  call();
  await pass(101);
  monitor.stop();
  await pass(60_000);
  expect(probes).toHaveLength(0);
  const other = start();
  const one = other.call();
  other.monitor.stop();
  await pass(101);
  expect(one.outcome.state).toBe("late");
});
