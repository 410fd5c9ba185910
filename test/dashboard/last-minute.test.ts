import { createAdmin } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { addUsage } from "../../packages/core/src/usage/operations.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { nodeMount } from "./support/mounts.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

/** The start of a step of ten seconds. */
const STEP = 1_800_000_000_000;

const storeAt = (now: number) => redisStore(own.client, { prefix: "fleet", clock: () => now });

/** Counts in four steps: before the minute that ends at `STEP`, in its first and its last step, and after it. */
const ROWS = [
  { at: STEP - 61_000, allowed: 4_000, denied: 400 },
  { at: STEP - 59_000, allowed: 30, denied: 3 },
  { at: STEP - 1_000, allowed: 200, denied: 20 },
  { at: STEP + 5_000, allowed: 1_000, denied: 100 },
].map((row) => ({ ...row, at: row.at * 1_000, degraded: 1 }));

/** Loads the overview and the limiter view at a given time. */
async function loadAt(now: number) {
  const page = await nodeMount.mount({ store: storeAt(now), authorize: () => "read" });
  const [overview, limiter] = await Promise.all([
    api(page, "overview?span=30d"),
    api(page, "limiter?name=api"),
  ]);
  return { overview: overview.json, limiter: limiter.json };
}

test("the last minute ends with the latest step that all processes have reported, and counts requests passed in shadow mode as allowed", async () => {
  const now = STEP + 15_000;
  const store = storeAt(now);
  await createAdmin(store).setOverride({ limiter: "trial", shadow: true });
  await requireStore(store).run(addUsage, {
    prefix: "fleet",
    process: "process-00000000",
    number: 1,
    clock: now * 1_000,
    clockOffset: 0,
    blocks: [],
    limiters: ["api", "trial"].map((name) => ({ name, rows: ROWS })),
  });
  const before = await loadAt(now);
  expect(before.limiter.lastMinute).toEqual({ allowed: 230, denied: 23, degraded: 2 });
  expect(before.overview).toMatchObject({
    lastMinute: { allowed: 230 + 253, denied: 23, degraded: 4 },
    shadow: { lastMinute: { allowed: 230, denied: 23, degraded: 2 } },
  });
  // A second later, the next step is six seconds old.
  const after = await loadAt(now + 1_000);
  expect(after.limiter.lastMinute).toEqual({ allowed: 1_200, denied: 120, degraded: 2 });
  expect(after.overview.lastMinute).toEqual({ allowed: 1_200 + 1_320, denied: 120, degraded: 4 });
});
