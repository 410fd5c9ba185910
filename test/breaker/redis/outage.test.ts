import { setTimeout as delay } from "node:timers/promises";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIBRARIES, makeClient } from "../../faults/clients.ts";
import { watchRejections } from "../../faults/unhandled-rejections.ts";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { listenToBreaker } from "./breaker-events.ts";
import { longest, startCallers } from "./callers.ts";

/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 400;
/** What a busy machine adds to a timer. */
const NOISE_MS = 50;
const AWAY_MS = 1_500;
/** It is seen after a report, every 250 ms, and the store's timeout, where the machine lets this process run. */
const SEEN_MS = 5_000;
/** Clients come back in their own time: ioredis after up to 2 s. */
const BACK_MS = 10_000;

const FAULTS = {
  killed: (server: RedisProcess) => server.kill(),
  frozen: async (server: RedisProcess) => server.freeze(),
};
const HEALS = {
  killed: (server: RedisProcess) => server.restart(),
  frozen: async (server: RedisProcess) => server.thaw(),
};
const outages = LIBRARIES.flatMap((library) =>
  (["killed", "frozen"] as const).map((fault) => ({ library, fault })),
);

/** What was reported in process warnings, by code, in place of those who would print it. */
const reported: Record<string, number> = {};
const printers = process.listeners("warning");
function note({ code = "" }: NodeJS.ErrnoException): void {
  reported[code] = (reported[code] ?? 0) + 1;
}

let rejections: ReturnType<typeof watchRejections>;
beforeAll(() => {
  rejections = watchRejections();
  process.removeAllListeners("warning").on("warning", note);
});
afterAll(() => {
  rejections.stop();
  process.off("warning", note);
  for (const printer of printers) process.on("warning", printer);
  expect(rejections.unhandled).toEqual({});
  // Each client's operator once, when it went away, and once when it was back.
  const outagesInAll = outages.length + LIBRARIES.length;
  expect(reported).toEqual({ HEADGATE_STORE_DOWN: outagesInAll, HEADGATE_STORE_UP: outagesInAll });
});

test.concurrent.each(outages)(
  "with Redis $fault, a process with $library decides by its own calls, and by the fleet's after the outage",
  async ({ library, fault }) => {
    const server = await startRedis({ port: true });
    const { client, connected, close } = makeClient(library, { kind: "server", port: server.port });
    await connected;
    const name = `away-${library}-${fault}`;
    const events = listenToBreaker(name);
    const options = {
      name,
      storeTimeout: STORE_TIMEOUT_MS,
      minimumSuccessRate: 0.8,
      openFor: "5m",
    } as const;
    const breaker = createBreaker<string>({ ...options, store: redisStore(client) });
    const [well, failing] = [breaker.for("well"), breaker.for("failing")];
    const upstream = { isWell: true };
    const callers = startCallers(
      [
        [well, { isWell: true }],
        [failing, upstream],
      ],
      5,
    );
    const since = (moment: number, target: string) =>
      callers.called.filter((one) => one.at >= moment && one.target === target);
    // Most of it is reported before the outage.
    await delay(800);
    expect(callers.called.filter(({ degraded }) => degraded)).toEqual([]);

    const seen = since(0, "failing").length;
    const lostAt = performance.now();
    await FAULTS[fault](server);
    upstream.isWell = false;
    await delay(AWAY_MS);
    await waitUntil("both are seen from here alone", SEEN_MS, () => {
      const isAlone = since(lostAt, "well").at(-1)?.degraded === true;
      const isRefused = since(lostAt, "failing").at(-1)?.ended === "refused";
      return (isAlone && isRefused) || undefined;
    });
    expect(await well.snapshot()).toMatchObject({ state: "closed", degraded: true, failures: 0 });
    const opened = await failing.snapshot();
    expect(opened).toMatchObject({ state: "open", degraded: true });
    // Its own window goes on: what it saw before the outage is there as well, and only every second call is noted here.
    expect(opened.successes).toBeGreaterThanOrEqual(seen);
    expect(since(lostAt, "well").filter(({ ended }) => ended !== "fine")).toEqual([]);
    expect(since(lostAt, "well").at(-1)).toMatchObject({ state: "closed", degraded: true });
    expect(since(lostAt, "failing").at(-1)).toMatchObject({ ended: "refused", state: "open" });

    upstream.isWell = true;
    await HEALS[fault](server);
    const healed = performance.now();
    const backAt = await waitUntil("both are in the shared state again", BACK_MS, () => {
      const isBack = ["well", "failing"].every(
        (target) => since(healed, target).at(-1)?.degraded === false,
      );
      return isBack ? performance.now() : undefined;
    });
    await delay(300);
    await callers.stop();
    // What counts is what the store says, as somebody sees it who was not there.
    const other = makeClient(library, { kind: "server", port: server.port });
    await other.connected;
    const witness = createBreaker({ ...options, store: redisStore(other.client) });
    for (const target of ["well", "failing"]) {
      const { state, degraded, openings: times } = await breaker.for(target).snapshot();
      expect(degraded).toBe(false);
      // Of what was sent and not answered the store may have counted some, which opened it.
      expect(await witness.for(target).snapshot()).toMatchObject({ state, openings: times });
    }
    expect(since(lostAt, "well").filter(({ ended }) => ended === "refused")).toEqual([]);
    expect(events.degraded.map(({ target }) => target).sort()).toEqual(["failing", "well"]);
    for (const { reason } of events.degraded) {
      expect(reason.code).toBe("HEADGATE_STORE_UNAVAILABLE");
    }
    const [first, ...more] = events.states;
    const byItself = {
      target: "failing",
      from: "closed",
      to: "open",
      causedHere: true,
      degraded: true,
    };
    expect(first).toMatchObject(byItself);
    expect(more.filter(({ target, degraded }) => target === "well" || degraded)).toEqual([]);
    expect(longest(callers.called)).toBeLessThanOrEqual(STORE_TIMEOUT_MS + NOISE_MS);
    console.log(
      `${library}, ${fault}: longest wait ${longest(callers.called).toFixed(0)} ms of ${callers.called.length}, back ${(backAt - healed).toFixed(0)} ms after it answers`,
    );
    events.stop();
    await breaker.close();
    await witness.close();
    await other.close();
    await close();
    await server.stop();
  },
);

test.concurrent.each(LIBRARIES)(
  "without Redis at start, a process with %s answers its first call in time, and joins the fleet later",
  async (library) => {
    const server = await startRedis({ port: true });
    await server.kill();
    const { client, close } = makeClient(library, { kind: "server", port: server.port });
    const name = `late-${library}`;
    const events = listenToBreaker(name);
    const breaker = createBreaker<string>({
      name,
      store: redisStore(client),
      storeTimeout: STORE_TIMEOUT_MS,
      openFor: "5m",
    });
    const upstream = { isWell: true };
    const callers = startCallers([[breaker, upstream]], 5);
    await waitUntil("calls are answered", 5_000, () => callers.called.length > 1 || undefined);
    expect(callers.called.filter(({ degraded, ended }) => !degraded || ended !== "fine")).toEqual(
      [],
    );
    upstream.isWell = false;
    await waitUntil("it opens by itself", 5_000, () => events.states.length > 0 || undefined);
    upstream.isWell = true;
    await server.restart();
    await waitUntil(
      "it is closed by the store",
      BACK_MS,
      () => callers.called.at(-1)?.degraded === false || undefined,
    );
    await callers.stop();
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", degraded: false });
    expect(events.degraded).toHaveLength(1);
    expect(longest(callers.called)).toBeLessThanOrEqual(STORE_TIMEOUT_MS + NOISE_MS);
    events.stop();
    await breaker.close();
    await close();
    await server.stop();
  },
);
