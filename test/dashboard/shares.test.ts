import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import type { SubjectCounts } from "../../packages/core/src/usage/operations.ts";
import { addUsage } from "../../packages/core/src/usage/operations.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { nodeMount } from "./support/mounts.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

const MINUTE = 60_000;
const DAY = 86_400_000;

/** The start of ten minutes, three hours into a UTC day. */
const START = 1_800_000_000_000 - (1_800_000_000_000 % DAY) + 3 * 60 * MINUTE;

const storeAt = (now: number) => redisStore(own.client, { prefix: "fleet", clock: () => now });

let number = 0;

/** Counts requests of ann at a time: some denied by a limit, and some whose limits are not yet reported. */
async function countAt(now: number, allowed: number, byLimit: number, notReported: number) {
  number += 1;
  const denied = byLimit + notReported;
  const subjects: SubjectCounts = {
    used: [0, allowed + byLimit, "default ann", allowed + byLimit, 0],
    denied: [0, byLimit, "default ann", byLimit, 0],
    denials: { "default burst": byLimit },
  };
  await requireStore(storeAt(now)).run(addUsage, {
    ...{ prefix: "fleet", process: "process-00000000", number, blocks: [] },
    ...{ clock: now * 1_000, clockOffset: 0 },
    limiters: [
      { name: "api", rows: [{ at: now * 1_000, allowed, denied, degraded: 0 }], subjects },
    ],
  });
}

async function limiterAt(now: number, span: string) {
  const page = await nodeMount.mount({ store: storeAt(now), authorize: () => "read" });
  return (await api(page, `limiter?name=api&span=${span}`)).json;
}

test("the denials of a limiter by cause are all denials since the same ten minutes, also those whose limit is not yet reported", async () => {
  await countAt(START - MINUTE, 1_000, 1_000, 0);
  await countAt(START + MINUTE, 0, 100, 0);
  await countAt(START + 20 * MINUTE, 50, 30, 20);
  const view = await limiterAt(START + 24 * MINUTE, "15m");
  expect(view).toMatchObject({
    totals: { allowed: 50, denied: 50 },
    denialsFrom: START,
    denials: [
      { cause: { kind: "limit", limit: "burst" }, denied: 130 },
      { cause: { kind: "unknown" }, denied: 20 },
    ],
    topSubjectsFrom: START,
    topSubjectsTotals: { allowed: 50, denied: 150 },
    denied: [{ subject: "ann", count: 130 }],
  });
});

test("over 30 days, subjects have shares of the last day, and denials by cause cover all days", async () => {
  const now = START + 2 * MINUTE;
  await countAt(now - 2 * DAY, 0, 1_000, 500);
  await countAt(now - MINUTE, 10, 30, 0);
  expect(await limiterAt(now, "30d")).toMatchObject({
    totals: { allowed: 10, denied: 1_530 },
    denialsFrom: START - (START % DAY) - 30 * DAY,
    denials: [
      { cause: { kind: "limit", limit: "burst" }, denied: 1_030 },
      { cause: { kind: "unknown" }, denied: 500 },
    ],
    topSubjectsFrom: START - DAY + 10 * MINUTE,
    topSubjectsTotals: { allowed: 10, denied: 30 },
    denied: [{ subject: "ann", count: 30 }],
  });
  // Without unreported denials, nothing is of an unknown cause.
  expect((await limiterAt(now, "24h")).denials).toEqual([
    { cause: { kind: "limit", limit: "burst" }, denied: 30 },
  ]);
});
