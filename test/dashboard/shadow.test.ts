import { createAdmin } from "@headgate/core/admin";
import { expect, test } from "vitest";
import type { BlockRow } from "../../packages/dashboard/src/api.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { consume, createFleet, THREE_AN_HOUR } from "./support/fleet.ts";
import { nodeMount } from "./support/mounts.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

test("the overview counts requests passed in shadow mode as allowed, and shows separately how many would be denied", async () => {
  const fleet = createFleet(own.client);
  await createAdmin(fleet.store).setOverride({ limiter: "trial", shadow: true });
  await consume(fleet.make("api", THREE_AN_HOUR), "ann", 5);
  await consume(fleet.make("trial", THREE_AN_HOUR), "ann", 13);
  await fleet.report();
  const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
  const { json } = await api(page, "overview");
  expect(json.totals).toEqual({ allowed: 16, denied: 2, degraded: 0 });
  expect(json.shadow.totals).toEqual({ allowed: 3, denied: 10, degraded: 0 });
  const sum = (points: { denied: number }[]) => points.reduce((all, one) => all + one.denied, 0);
  expect(sum(json.series)).toBe(2);
  // Sorted by denials, with the limiters in shadow mode last.
  expect(json.limiters).toMatchObject([
    { name: "api", shadow: false, totals: { denied: 2 } },
    { name: "trial", shadow: true, totals: { denied: 10 } },
  ]);
  expect((await api(page, "limiter?name=trial")).json.shadow).toBe(true);
  expect((await api(page, "limiter?name=api")).json.shadow).toBe(false);
});

test("a block of a limiter in shadow mode is listed as in shadow mode", async () => {
  const fleet = createFleet(own.client);
  const admin = createAdmin(fleet.store);
  await admin.setOverride({ limiter: "trial", shadow: true });
  for (const name of ["api", "trial"]) {
    fleet.make(name, THREE_AN_HOUR);
    await admin.block({ name, limits: THREE_AN_HOUR }, "ann", "2h");
  }
  await fleet.report();
  const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
  const { blocks } = (await api(page, "control")).json;
  const shadows = blocks.map(({ limiter, shadow }: BlockRow) => [limiter, shadow]);
  expect(Object.fromEntries(shadows)).toEqual({ api: false, trial: true });
});
