import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import type { MockApi } from "../../../examples/providers/mock-api.mjs";
import { useOwnRedis } from "../../support/own-redis.ts";
import type { Call, Fleet, Outcome, Report } from "./fleet.mjs";
import { auditCalls, mostWithin, startFleet } from "./fleet.mjs";

/*
 * Eight processes on one Redis call mock providers, which keep their own limits and record every request by their own clock. A
 * provider sees a call later than Redis admitted it: by the way there, and by the longest turn of the process's event loop. Both are
 * measured, and spans are shorter by as much.
 */

/** Starts eight processes for a suite. `openCallers` gives them callers that share a limiter of their own. */
export function useFleet() {
  const own = useOwnRedis();
  let fleet: Fleet | undefined;
  let opened = 0;
  beforeAll(async () => {
    fleet = await startFleet();
  });
  afterAll(() => fleet?.stop());
  return {
    get fleet() {
      return fleet as Fleet;
    },
    openCallers(limits: readonly object[], options: Readonly<Record<string, unknown>> = {}) {
      opened += 1;
      const setup = { tool: "headgate", redis: own.server.socket, name: `fleet-${opened}` };
      return (fleet as Fleet).open({ ...setup, limits, ...options });
    },
  };
}

/** Ends a mock provider with the test. */
export async function started<Api extends MockApi>(api: Promise<Api>): Promise<Api> {
  const mock = await api;
  onTestFinished(() => mock.stop());
  return mock;
}

/** How much later than admitted a call may have arrived, in milliseconds. */
export function latenessOf(api: MockApi, reports: readonly Report[]): number {
  const sentAt = new Map<string, number[]>();
  for (const { id, at } of reports.flatMap(({ sent }) => sent)) {
    sentAt.set(id, [...(sentAt.get(id) ?? []), at]);
  }
  const ways = api.arrivals.map(({ headers, at }) => {
    const sent = (sentAt.get(String(headers["x-call"])) ?? []).filter((time) => time <= at);
    return at - Math.max(...sent);
  });
  const turns = reports.map(({ longestDelayMs }) => longestDelayMs);
  return Math.max(...ways) + Math.max(...turns) + 25;
}

/** The most requests that arrived within a span, which is as much shorter as calls may have been late. */
export function mostArrivals(api: MockApi, reports: readonly Report[], spanMs: number): number {
  const times = api.arrivals.map(({ at }) => at);
  return mostWithin(times, spanMs - latenessOf(api, reports));
}

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
