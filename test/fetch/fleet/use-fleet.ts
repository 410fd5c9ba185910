import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { startIetf } from "../../../examples/providers/ietf.mjs";
import type { MockApi } from "../../../examples/providers/mock-api.mjs";
import { useOwnRedis } from "../../support/own-redis.ts";
import type { Call, Fleet, Outcome, Report } from "./fleet.mjs";
import { auditCalls, makeCalls, startFleet } from "./fleet.mjs";

/*
 * Eight processes on one Redis call mock providers, which keep their own limits and record every request by their own clock.
 */

/** Starts eight processes for a suite. `openCallers` gives them callers that share a limiter of their own. */
export function useFleet() {
  const own = useOwnRedis();
  let fleet: Fleet | undefined;
  let opened = 0;
  beforeAll(async () => {
    fleet = await startFleet();
    // The first calls of a process take many times as long as later ones.
    const api = await startIetf({ limit: 10_000 });
    await openCallers([{ algorithm: "gcra", limit: 10_000, window: 1_000 }]);
    await fleet.run(makeCalls(160, (i) => ({ url: `${api.url}/${i}` })));
    await api.stop();
  });
  afterAll(() => fleet?.stop());
  function openCallers(limits: readonly object[], options: Readonly<Record<string, unknown>> = {}) {
    opened += 1;
    const name = `fleet-${opened}`;
    // Processes that starve must not look like an outage.
    const setup = { tool: "headgate", redis: own.server.socket, name, storeTimeout: "5s" };
    return (fleet as Fleet).open({ ...setup, limits, ...options });
  }
  return {
    get fleet() {
      return fleet as Fleet;
    },
    openCallers,
  };
}

/** Ends a mock provider with the test. */
export async function started<Api extends MockApi>(api: Promise<Api>): Promise<Api> {
  const mock = await api;
  onTestFinished(() => mock.stop());
  return mock;
}

/**
 * The requests that arrived too early. A request arrives after it was admitted, so by any time no more of them have arrived than a
 * limit admits from `startedAt` until then: `most` of milliseconds.
 */
export function findTooEarly(
  api: MockApi,
  startedAt: number,
  most: (elapsedMs: number) => number,
): readonly object[] {
  const elapsed = api.arrivals.map(({ at }) => at - startedAt);
  return elapsed.flatMap((ms, i) => (i + 1 <= most(ms) ? [] : { arrived: i + 1, ms }));
}

/** The most that a window of whichever second admits: all its units at its beginning, and again when it is over. */
export const inWindowsOf = (limit: number, windowMs: number) => (elapsedMs: number) =>
  elapsedMs < 0 ? 0 : limit * (1 + Math.floor(elapsedMs / windowMs));

/** The most that a token bucket admits. */
export const fromBucket = (capacity: number, perSecond: number) => (elapsedMs: number) =>
  capacity + (perSecond * elapsedMs) / 1_000;

/**
 * Sends while the fleet knew of a cooldown, apart from those that were admitted just before: how long after its beginning, and how long
 * before its end, in milliseconds. It is published, and calls are sent, as late as the processes' turns are long.
 */
export function sentDuringCooldowns(reports: readonly Report[]): readonly object[] {
  const cooldowns = reports.flatMap((one) =>
    one.cooldowns.map(({ at, durationMs }) => ({
      beginsAt: at,
      endsAt: at + durationMs - one.longestDelayMs - 25,
    })),
  );
  return reports.flatMap(({ sent, longestDelayMs }) =>
    sent.flatMap(({ at }) =>
      cooldowns
        .filter(({ beginsAt, endsAt }) => at > beginsAt + longestDelayMs + 25 && at < endsAt)
        .map(({ beginsAt, endsAt }) => ({ after: at - beginsAt, before: endsAt - at })),
    ),
  );
}

/** Every call was answered once, and acted on once. */
export function expectAllDone(
  calls: readonly Call[],
  outcomes: readonly Outcome[],
  api: MockApi,
): void {
  expect(outcomes.filter(({ error }) => error !== undefined)).toEqual([]);
  expect(auditCalls(calls, outcomes, api.arrivals)).toMatchObject({ lost: 0, doubled: 0 });
}
