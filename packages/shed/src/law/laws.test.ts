import { describe, expect, test } from "vitest";
import type { Sent, Traffic } from "../../../../test/support/virtual-server.ts";
import { serveTraffic } from "../../../../test/support/virtual-server.ts";

/*
 * The middleware on a virtual event loop: time passes only while code spins or the loop waits, so each run is the same. A load of 1 is
 * what the server could do.
 */

type Workload = Pick<Traffic, "meanMs" | "handlerMs" | "isAsync" | "pauses">;

/** Handler times from 1 to 100 ms, of which most are short: a bounded Pareto distribution with the exponent 1.5. */
const paretoMs = (random: number): number => (1 - random * (1 - 100 ** -1.5)) ** (-1 / 1.5);
const PARETO_MEAN_MS = (3 * (1 - 100 ** -0.5)) / (1 - 100 ** -1.5);

const fiveMs: Workload = { meanMs: 5, handlerMs: () => 5 };

const WORKLOADS: Readonly<Record<string, Workload>> = {
  "handlers of 5 ms": fiveMs,
  "handlers of 5 ms after an await": { ...fiveMs, isAsync: true },
  "handlers of 5 ms and pauses of 60 ms a second": {
    ...fiveMs,
    pauses: { everyMs: 1_000, ms: 60 },
  },
  "handlers of 1 ms": { meanMs: 1, handlerMs: () => 1 },
  "handlers of 1 to 100 ms": { meanMs: PARETO_MEAN_MS, handlerMs: paretoMs },
};

const CONNECTIONS = ["each", "pool"] as const;

const EVERY = Object.entries(WORKLOADS).flatMap(([name, workload]) =>
  CONNECTIONS.map((connections) => ({ name, workload, connections })),
);

const base = { seed: 42, durationMs: 12_000, connections: "each", ...fiveMs } as const;

const waitOf = ({ at, answeredAt = Number.NaN }: Sent): number => answeredAt - at;
/** Without the wait for a free connection of the pool. */
const serverWaitOf = ({ readAt = 0, answeredAt = Number.NaN }: Sent): number => answeredAt - readAt;
const isShed = ({ status }: Sent): boolean => status === 503;
const percent = (some: readonly Sent[], of: (sent: Sent) => boolean): number =>
  (some.filter(of).length / some.length) * 100;

describe.each(EVERY)("with $name, connections: $connections", ({ workload, connections }) => {
  const durationMs = workload.meanMs === 1 ? 4_000 : 12_000;
  const traffic = { ...base, ...workload, connections, durationMs };

  test("no request is shed at half of the load, and most are handled at once", () => {
    const { all, shedPercent, goodPercent } = serveTraffic({}, { ...traffic, load: 0.5 });
    expect(all.length).toBeGreaterThan(1_000);
    expect(shedPercent).toBe(0);
    expect(goodPercent).toBeGreaterThan(90);
  });

  test("at most one in 1,000 requests is shed at 0.9 of the load", () => {
    const { all, shedPercent } = serveTraffic({}, { ...traffic, load: 0.9 });
    expect(shedPercent).toBeLessThanOrEqual(0.1);
    expect(all.filter(({ status }) => status === undefined).length).toBe(0);
  });

  test.each([1.5, 3])("at a load of %d, each priority is handled in its order", (load) => {
    const priority = (random: number) =>
      random < 0.1 ? "critical" : random < 0.6 ? "default" : "sheddable";
    const options = { priority: ({ sent }: { readonly sent: Sent }) => sent.priority };
    const { all } = serveTraffic(options, {
      ...traffic,
      load,
      priority,
      durationMs: durationMs / 2,
    });
    const of = (one: Sent["priority"]) => all.filter((sent) => sent.priority === one);

    expect(of("critical").filter(isShed).length).toBe(0);
    expect(Math.max(...of("critical").map(serverWaitOf))).toBeLessThan(250);
    expect(percent(of("sheddable"), isShed)).toBeGreaterThan(30);
    expect(percent(of("default"), isShed)).toBeLessThan(percent(of("sheddable"), isShed));
    expect(all.filter((sent) => sent.shedOnBusyLoop === false).length).toBe(0);
    for (const one of ["critical", "default", "sheddable"] as const) {
      const started = of(one)
        .filter(({ startedAs }) => startedAs !== undefined)
        .sort((a, b) => Number(a.readAs) - Number(b.readAs))
        .map(({ startedAs }) => Number(startedAs));
      // Above its load, a priority leaves nothing to those behind it.
      if (one !== "sheddable" || load < 2) expect(started.length).toBeGreaterThan(50);
      expect(started).toEqual([...started].sort((a, b) => a - b));
    }
  });
});

describe("a server that could do a third of what it is asked for", () => {
  const SLOW = EVERY.filter(({ workload }) => workload.meanMs === 5);

  test.each(SLOW)("$name, connections: $connections: four fifths of it is useful", (one) => {
    const traffic = { ...base, ...one.workload, connections: one.connections, load: 3 };
    const { all, goodPercent } = serveTraffic({}, traffic);
    expect(goodPercent).toBeGreaterThan(80);
    expect(all.filter(({ status }) => status === undefined).length).toBe(0);
    // A client learns soon that it is not served.
    const longest = Math.max(...all.filter(isShed).map(waitOf));
    expect(longest).toBeLessThan(400);
  });
});

describe("a spike of three times the load", () => {
  const load = (ms: number): number => (ms >= 4_000 && ms < 9_000 ? 3 : 0.6);

  test.each(CONNECTIONS)("is over within a second, connections: %s", (connections) => {
    const { all } = serveTraffic({}, { ...base, connections, load });
    const after = all.filter(({ at }) => at >= 10_000);
    expect(all.filter(isShed).length).toBeGreaterThan(1_000);
    expect(after.filter(isShed).length).toBe(0);
    expect(Math.max(...after.map(waitOf))).toBeLessThan(150);
    // Those before it do not notice.
    expect(all.filter(({ at, status }) => at < 4_000 && status !== 200).length).toBe(0);
  });

  test("leaves the limit as it was: a short burst later has nothing shed", () => {
    const thenBurst = (ms: number): number => (ms >= 10_500 && ms < 10_700 ? 2 : load(ms));
    const { all } = serveTraffic({}, { ...base, load: thenBurst });
    const burst = all.filter(({ at }) => at >= 10_500 && at < 10_800);
    expect(Math.max(...burst.map(waitOf))).toBeGreaterThan(100);
    expect(burst.filter(isShed).length).toBe(0);
  });
});

test.each(CONNECTIONS)(
  "the wait is short while a queue stands for seconds, connections: %s",
  (connections) => {
    const { all } = serveTraffic({}, { ...base, connections, load: 3 });
    const served = all.filter(({ at, status }) => at >= 6_000 && status === 200);
    const waits = served.map(({ answeredAt = 0, at }) => answeredAt - at).sort((a, b) => a - b);
    // On a pool, the wait for a free connection comes on top.
    expect(waits[Math.floor(waits.length / 2)]).toBeLessThan(100);
  },
);

test("a server that starts slowly sheds nothing a second after it is warm", () => {
  const handlerMs = (_: number, ms: number): number => (ms < 3_000 ? 20 : 5);
  const { all } = serveTraffic({}, { ...base, handlerMs, load: 0.7 });
  expect(all.filter(({ at }) => at < 3_000).filter(isShed).length).toBeGreaterThan(100);
  expect(all.filter(({ at }) => at >= 4_000).filter(isShed).length).toBe(0);
});

test("a request of a client that has disconnected is not handled", () => {
  const { all } = serveTraffic({}, { ...base, load: 2, patienceMs: 150 });
  const started = all.filter(({ startedAs }) => startedAs !== undefined);
  // A handler may run while the client disconnects.
  const inVain = started.filter((sent) => waitOf(sent) > 150 + 2 * sent.handlerMs);
  expect(all.filter(({ status }) => status === undefined).length).toBeGreaterThan(500);
  expect(inVain.length).toBe(0);
  expect(started.length).toBeGreaterThan(1_500);
});

describe("a heavy subject", () => {
  /** Sends half of all requests; 40 others share the rest. */
  const subject = (random: number): string =>
    random < 0.5 ? "heavy" : `light ${Math.floor(random * 80)}`;
  const traffic: Traffic = { ...base, load: 1.6, subject };

  test("is shed before those that use their fair share", () => {
    const { all } = serveTraffic({ subject: ({ sent }) => sent.subject }, traffic);
    const heavy = all.filter((sent) => sent.subject === "heavy");
    const light = all.filter((sent) => sent.subject !== "heavy");
    expect(percent(heavy, isShed)).toBeGreaterThan(60);
    expect(percent(light, isShed)).toBeLessThan(2);
  });

  test("is shed like others if subjects are not distinguished, or if all are as heavy", () => {
    const blind = serveTraffic({}, traffic).all;
    const share = (of: (sent: Sent) => boolean): number => percent(blind.filter(of), isShed);
    const difference =
      share((sent) => sent.subject === "heavy") - share((sent) => sent.subject !== "heavy");
    expect(Math.abs(difference)).toBeLessThan(5);

    const two = (random: number): string => (random < 0.5 ? "a" : "b");
    const options = { subject: ({ sent }: { readonly sent: Sent }) => sent.subject };
    const { shedPercent } = serveTraffic(options, { ...traffic, subject: two });
    expect(Math.abs(shedPercent - percent(blind, isShed))).toBeLessThan(5);
  });
});

describe("a loop that never waits, because a job runs in pieces", () => {
  /** All that a class or a subject can lose. */
  const priority = (random: number) => (random < 0.5 ? "default" : "sheddable");
  const subject = (random: number): string =>
    random < 0.5 ? "heavy" : `light ${Math.floor(random * 80)}`;
  const options = {
    priority: ({ sent }: { readonly sent: Sent }) => sent.priority,
    subject: ({ sent }: { readonly sent: Sent }) => sent.subject,
  };
  const oneMs = { meanMs: 1, handlerMs: () => 1, durationMs: 6_000 };

  test.each([
    // Each new connection takes a turn.
    { connections: "each", pieceMs: 2, load: 0.3 },
    { connections: "pool", pieceMs: 5, load: 0.2 },
    { connections: "pool", pieceMs: 15, load: 0.1 },
  ] as const)(
    "has no request of a sheddable class or a heavy subject shed while there is time for all: pieces of $pieceMs ms, connections: $connections",
    (one) => {
      const { all } = serveTraffic(options, { ...base, ...oneMs, ...one, priority, subject });
      expect(all.length).toBeGreaterThan(500);
      expect(all.filter(({ status }) => status !== 200).length).toBe(0);
      expect(Math.max(...all.map(serverWaitOf))).toBeLessThan(48);
    },
  );

  test("does not make the limit shorter: pieces of 40 ms delay requests, and none is shed", () => {
    const pieces = { connections: "pool", pieceMs: 40, load: 0.1 } as const;
    const { all, shedPercent } = serveTraffic({}, { ...base, ...oneMs, ...pieces });
    expect(shedPercent).toBe(0);
    expect(Math.max(...all.map(serverWaitOf))).toBeGreaterThan(100);
  });
});

describe("maxInFlight", () => {
  /** Handlers use 0.1 ms of the processor, and wait 100 ms for a database that takes 50 at a time. */
  const traffic: Traffic = {
    ...base,
    meanMs: 0.1,
    handlerMs: () => 0.1,
    waitMs: 100,
    load: 0.21,
    durationMs: 6_000,
  };

  test("never are more requests in flight, and those that wait too long are shed while the loop idles", () => {
    // 1,000 requests a second, of which 500 can be handled.
    const { all, mostInFlight } = serveTraffic({ maxInFlight: 50 }, traffic);
    expect(mostInFlight).toBe(50);
    expect(percent(all, isShed)).toBeGreaterThan(40);
    expect(percent(all, isShed)).toBeLessThan(60);
    const handled = all.filter(({ status }) => status === 200).map(waitOf);
    expect(Math.max(...handled)).toBeLessThan(300 + 100 + 50);
    expect(all.filter(({ status }) => status === undefined).length).toBe(0);
  });

  test("without it, the loop handles them all", () => {
    const { mostInFlight, shedPercent } = serveTraffic({}, traffic);
    expect(mostInFlight).toBeGreaterThan(80);
    expect(shedPercent).toBe(0);
  });
});

describe("a dry run", () => {
  test("sheds nothing, and handles requests in their turn", () => {
    const { all } = serveTraffic({ dryRun: true }, { ...base, load: 1.5, durationMs: 3_000 });
    expect(all.filter(({ status }) => status !== 200).length).toBe(0);
    expect(all.map(({ startedAs }) => startedAs)).toEqual(all.map((_, place) => place));
  });
});

describe("trustStartHeader", () => {
  const options = { trustStartHeader: true };

  test.each([
    ["0.4 s behind", () => -400],
    ["0.4 s ahead", () => 400],
    ["an hour behind", () => -3_600_000],
    ["set back by 0.4 s", (ms: number) => (ms < 5_000 ? 0 : -400)],
    ["set forward by 0.4 s, and back", (ms: number) => (ms < 4_000 || ms > 6_000 ? 0 : 400)],
  ])("a proxy whose clock is %s has no request shed at half of the load", (_, proxyAheadMs) => {
    for (const connections of CONNECTIONS) {
      const { all } = serveTraffic(options, { ...base, connections, load: 0.5, proxyAheadMs });
      expect(all.filter(isShed).length).toBe(0);
    }
  });

  test("a wait for a free connection of the proxy counts", () => {
    // 200 connections with requests of 1 ms hold 200 ms: the rest waits in the proxy.
    const traffic: Traffic = {
      ...base,
      ...WORKLOADS["handlers of 1 ms"],
      connections: "pool",
      load: 1.5,
      durationMs: 8_000,
    } as Traffic;
    const blind = serveTraffic({}, traffic);
    const seeing = serveTraffic(options, { ...traffic, proxyAheadMs: () => 0 });
    const late = (all: readonly Sent[]): number =>
      percent(all, (sent) => sent.status === 200 && waitOf(sent) > 500);
    expect(late(blind.all)).toBeGreaterThan(5);
    expect(late(seeing.all)).toBe(0);
    expect(seeing.goodPercent).toBeGreaterThan(blind.goodPercent);
  });
});
