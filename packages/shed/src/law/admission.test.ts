import { describe, expect, test } from "vitest";
import { VirtualLoop } from "../../../../test/support/virtual-loop.ts";
import type { ShedDecision } from "./admission.ts";
import { Admission } from "./admission.ts";
import type { DeferredRequest, Priority } from "./line.ts";
import type { LoadReport } from "./load-monitor.ts";

/** No events but timers and immediates. */
const SILENCE = { nextAt: () => Number.POSITIVE_INFINITY, poll: () => {} };

/** `responseMs` is what it takes to end a request that is not handled. */
function setup({
  responseMs = 0,
  onShed,
  ...options
}: {
  maxInFlight?: number;
  dryRun?: boolean;
  responseMs?: number;
  onShed?: () => void;
} = {}) {
  const loop = new VirtualLoop();
  const shed: ShedDecision[] = [];
  const reports: LoadReport[] = [];
  const log: string[] = [];
  const admission = new Admission(loop, {
    maxWaitMs: 300,
    maxInFlight: Number.POSITIVE_INFINITY,
    dryRun: false,
    ...options,
    onShed(decision) {
      shed.push(decision);
      onShed?.();
    },
    onReport: (report) => reports.push(report),
  });

  function defer(name: string, priority: Priority = "default", start = () => {}): void {
    const request: DeferredRequest = {
      request: {},
      priority,
      subject: undefined,
      arrivedAt: loop.now(),
      isGone: () => name.startsWith("gone"),
      start() {
        log.push(name);
        start();
      },
      reject() {
        log.push(`shed ${name}`);
        loop.spin(responseMs);
      },
      drop() {
        log.push(`dropped ${name}`);
        loop.spin(responseMs);
      },
    };
    admission.defer(request);
  }

  /** Lets time pass, and returns the longest time between two turns of the loop. */
  function longestTurn(ms: number): number {
    let longest = 0;
    let turnedAt = loop.now();
    const turn = (): void => {
      longest = Math.max(longest, loop.now() - turnedAt);
      turnedAt = loop.now();
      loop.spin(0.01);
      loop.setImmediate(turn);
    };
    turn();
    run(ms);
    return longest;
  }

  const run = (ms: number): void => loop.run(SILENCE, loop.now() + ms);
  return { loop, admission, defer, run, longestTurn, log, shed, reports };
}

describe("a request that arrives", () => {
  test("is handled at once if the loop has just waited", () => {
    const { loop, admission, run } = setup();
    loop.spin(1_000);
    run(1_001);
    expect(admission.admitsAtOnce()).toBe(true);
  });

  test("waits for the next turn when handlers have run for 10 ms in this one", () => {
    const { loop, admission, run } = setup();
    run(100);
    expect(admission.admitsAtOnce()).toBe(true);
    loop.spin(9);
    expect(admission.admitsAtOnce()).toBe(true);
    loop.spin(1);
    expect(admission.admitsAtOnce()).toBe(false);
  });

  test("waits behind those in line, and while the loop has had no break for 20 ms", () => {
    const { loop, admission, defer, run } = setup();
    run(100);
    defer("first");
    expect(admission.admitsAtOnce()).toBe(false);
    run(100);
    expect(admission.admitsAtOnce()).toBe(true);
    // Each turn brings one, and none lets the loop wait.
    let admitted = 0;
    const busy = {
      nextAt: () => 0,
      poll() {
        if (admission.admitsAtOnce()) admitted += 1;
        loop.spin(4);
      },
    };
    loop.run(busy, loop.now() + 100);
    expect(admitted).toBe(5);
  });
});

test("a request has waited since it was read, or since its proxy says, but not since before the loop's last break", () => {
  const { loop, admission, run } = setup();
  run(100);
  admission.noteConnection();
  const before = loop.now();
  loop.spin(10_000);
  expect(admission.arrivalTime(0)).toBe(loop.now());
  expect(admission.arrivalTime(2_000)).toBe(loop.now() - 2_000);
  expect(admission.arrivalTime(20_000)).toBe(before);
});

test.each([
  [[true, true, false, false], 3],
  [[false, true, true, true], 1],
  // At most 10 ms of turns go without a handler.
  [Array(20).fill(true), 6],
])(
  "of turns that bring something or not, %j, number %d is the first that serves the line",
  (turns, first) => {
    const { loop, admission, defer, run, log } = setup();
    run(1_000);
    loop.spin(500);
    let turn = 0;
    const source = {
      nextAt: () => 0,
      poll() {
        if (turns[turn]) admission.noteConnection();
        turn += 1;
        loop.spin(2);
      },
    };
    defer("a", "default", () => log.push(`in turn ${turn}`));
    loop.run(source, loop.now() + 40);
    expect(log).toEqual(["a", `in turn ${first}`]);
  },
);

describe("the line", () => {
  test("begins with critical requests, and ends with sheddable ones", () => {
    const { defer, run, log } = setup();
    defer("c", "sheddable");
    defer("b");
    defer("a", "critical");
    defer("b2");
    run(100);
    expect(log).toEqual(["a", "b", "b2", "c"]);
  });

  test("drops a request that is gone, also one that has waited too long", () => {
    const { loop, defer, run, log, shed } = setup();
    defer("gone early");
    defer("a", "default", () => loop.spin(310));
    defer("gone late");
    run(400);
    expect(log).toEqual(["dropped gone early", "a", "dropped gone late"]);
    expect(shed).toEqual([]);
  });

  test("goes on when a handler throws, and when a response to a shed request does", () => {
    const { loop, admission, defer, run, log } = setup();
    for (const name of ["a", "b", "c"]) {
      defer(name, "default", () => {
        throw new Error(name);
      });
    }
    for (const name of ["a", "b", "c"]) expect(() => run(10)).toThrow(name);
    expect(log).toEqual(["a", "b", "c"]);
    admission.defer({
      ...{ request: {}, priority: "default", subject: undefined, arrivedAt: loop.now() - 400 },
      ...{ isGone: () => false, start: () => {} },
      reject() {
        throw new Error("headers sent");
      },
      drop: () => {},
    });
    defer("d");
    expect(() => run(10)).toThrow("headers sent");
    run(10);
    expect(log).toEqual(["a", "b", "c", "d"]);
  });

  test("runs handlers in slices of 10 ms, and one in each at least", () => {
    const { loop, defer, run } = setup();
    const starts: number[] = [];
    let turn = 0;
    for (const ms of [4, 4, 4, 4, 25, 1]) {
      defer("", "critical", () => {
        starts.push(turn);
        loop.spin(ms);
      });
    }
    const count = (): void => {
      turn += 1;
      loop.spin(0.1);
      loop.setImmediate(count);
    };
    loop.setImmediate(count);
    run(80);
    expect(starts.slice(1, 3)).toEqual([starts[0], starts[0]]);
    const [, , third, fourth, fifth, sixth] = starts as [number, number, number, ...number[]];
    expect(fourth).toBeGreaterThan(third);
    expect(fifth).toBe(fourth);
    expect(sixth).toBeGreaterThan(fifth as number);
  });

  test("sheds in slices of 10 ms, however many have waited too long, and handles critical requests meanwhile", () => {
    const { loop, defer, longestTurn, log } = setup({ responseMs: 0.04 });
    for (let i = 0; i < 2_500; i += 1) defer("late");
    loop.spin(310);
    defer("critical", "critical");
    defer("in time");
    expect(longestTurn(200)).toBeLessThan(10.2);
    expect(log.filter((entry) => entry === "shed late").length).toBe(2_500);
    expect(log.indexOf("critical")).toBeLessThan(300);
    expect(log.at(-1)).toBe("in time");
    expect(log).toHaveLength(2_502);
  });

  test("takes in no more requests before those that have waited too long are shed", () => {
    const { loop, admission, defer, log } = setup({ responseMs: 0.04 });
    for (let i = 0; i < 1_000; i += 1) defer("late");
    loop.spin(310);
    const source = {
      nextAt: () => 0,
      poll() {
        admission.noteConnection();
        loop.spin(0.1);
      },
    };
    // 10 ms for an intake, and four slices.
    loop.run(source, loop.now() + 60);
    expect(log).toHaveLength(1_000);
  });

  test("drops requests that are gone in slices of 10 ms", () => {
    const { defer, longestTurn, log } = setup({ responseMs: 0.04 });
    for (let i = 0; i < 2_500; i += 1) defer("gone");
    defer("a");
    expect(longestTurn(200)).toBeLessThan(10.2);
    expect(log).toHaveLength(2_501);
    expect(log.at(-1)).toBe("a");
  });

  test("holds 100,000 requests: more are shed, and critical ones handled at once", () => {
    const { defer, run, log, shed } = setup();
    for (let i = 0; i < 100_000; i += 1) defer("waiting");
    defer("default");
    defer("critical", "critical");
    expect(log).toEqual(["shed default", "critical"]);
    expect(shed.map(({ reason }) => reason)).toEqual(["line-full"]);
    run(20);
    defer("room again");
    run(20);
    expect(log.at(-1)).toBe("room again");
    expect(log).toHaveLength(100_003);
  });

  test("is full also for a request that is responded to by who learns of it", () => {
    let isGone = false;
    const { admission, defer, run, log } = setup({
      onShed() {
        isGone = true;
      },
    });
    for (let i = 0; i < 100_000; i += 1) defer("waiting");
    admission.defer({
      ...{ request: {}, priority: "default", subject: undefined, arrivedAt: 0 },
      ...{ isGone: () => isGone, start: () => {} },
      reject: () => log.push("a second response"),
      drop: () => log.push("dropped"),
    });
    expect(log).toEqual(["dropped"]);
    run(20);
  });
});

describe("maxInFlight", () => {
  test("keeps requests in line until one in flight ends", () => {
    const { admission, defer, run, log } = setup({ maxInFlight: 1 });
    expect(admission.admitsAtOnce()).toBe(true);
    admission.begin();
    expect(admission.admitsAtOnce()).toBe(false);
    defer("a", "default", () => admission.begin());
    defer("b", "default", () => admission.begin());
    run(100);
    expect(log).toEqual([]);
    admission.end();
    run(1);
    expect(log).toEqual(["a"]);
    run(300);
    expect(log).toEqual(["a", "shed b"]);
  });

  test("makes requests wait while the loop idles, and the time since a proxy counts then", () => {
    const { loop, admission, defer, run } = setup({ maxInFlight: 1 });
    run(100);
    admission.noteConnection();
    admission.begin();
    defer("a");
    run(100);
    admission.noteConnection();
    expect(admission.arrivalTime(80)).toBe(loop.now() - 80);
  });

  test("keeps none in line in a dry run", () => {
    const { admission, run } = setup({ maxInFlight: 1, dryRun: true });
    run(100);
    admission.begin();
    expect(admission.admitsAtOnce()).toBe(true);
  });

  test("keeps none in line once the shedder is being closed", () => {
    const { admission, defer, run, log } = setup({ maxInFlight: 1 });
    admission.begin();
    defer("a");
    defer("b", "critical");
    admission.drain(() => log.push("drained"));
    expect(log).toEqual([]);
    run(20);
    expect(log).toEqual(["b", "a", "drained"]);
    admission.drain(() => log.push("again"));
    expect(log.at(-1)).toBe("again");
  });
});

describe("reports", () => {
  test("say at once that requests wait or are shed, each second how many, and at last that all is calm", () => {
    const { loop, defer, run, reports } = setup();
    run(5_000);
    expect(reports).toEqual([]);
    defer("a");
    defer("b", "default", () => loop.spin(310));
    defer("c");
    run(4_000);
    expect(reports.map(({ before, state }) => `${before} ${state}`)).toEqual([
      "calm busy",
      "busy shedding",
      "shedding shedding",
      "shedding calm",
    ]);
    const [first, , second, calm] = reports as [LoadReport, LoadReport, LoadReport, LoadReport];
    expect(first).toMatchObject({ waiting: 1, deferred: 1, shed: 0, limitMs: 300 });
    expect(second).toMatchObject({ waiting: 0, deferred: 3, shed: 1 });
    expect(second.longestWaitMs).toBeGreaterThanOrEqual(310);
    expect(calm).toMatchObject({ waiting: 0, deferred: 0, shed: 0, longestWaitMs: 0 });
  });

  test("of a dry run say what would have been shed, in a request's turn", () => {
    const { loop, defer, run, reports, shed, log } = setup({ dryRun: true });
    defer("a", "default", () => loop.spin(310));
    defer("b");
    run(1_500);
    expect(log).toEqual(["a", "b"]);
    expect(shed).toMatchObject([{ reason: "wait", waitMs: 310, limitMs: 300 }]);
    expect(reports.at(-1)).toMatchObject({ state: "shedding", shed: 1 });
  });
});
