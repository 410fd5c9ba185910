import { HeadgateError } from "@headgate/core";
import { expect, test } from "vitest";
import { visibleTo } from "../../packages/dashboard/src/access/visible-to.ts";
import { parsePermission } from "../../packages/dashboard/src/access/visitor.ts";
import { createDashboard } from "../../packages/dashboard/src/dashboard.ts";
import { READ_ENDPOINTS } from "../../packages/dashboard/src/endpoints.ts";
import { buildOverview, loadOverviewData } from "../../packages/dashboard/src/views/overview.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { createFleetWithUsage } from "./support/fleet.ts";
import { nodeMount } from "./support/mounts.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

const ONLY_API = { by: "eve", actions: [], limiters: (name: string) => name === "api" } as const;

test("the overview is built once for all visitors who may see the same limiters, and again after an action", async () => {
  const { store } = await createFleetWithUsage(own.client);
  const dashboard = createDashboard({ store, authorize: () => "read" });
  const { reader } = dashboard;
  const load = (permission: unknown) => {
    const visitor = parsePermission(permission, false);
    const context = { dashboard, visitor, reader: visibleTo(reader, visitor) } as never;
    return READ_ENDPOINTS["overview"]?.(context, new URLSearchParams("span=24h"));
  };
  const first = await load("read");
  expect(await load({ by: "ann", actions: "all" })).toBe(first);
  const ofEve = await load(ONLY_API);
  expect(ofEve).not.toBe(first);
  const ofBob = { ...ONLY_API, by: "bob", limiters: (name: string) => !name.startsWith("s") };
  expect(await load(ofBob)).toBe(ofEve);
  reader.clearCache();
  expect(await load(ofBob)).not.toBe(ofEve);
  expect(await load("read")).not.toBe(first);
});

test("the overview of a visitor never shows a limiter that is hidden from that visitor", async () => {
  const { store } = await createFleetWithUsage(own.client);
  let sees: "read" | typeof ONLY_API = "read";
  const page = await nodeMount.mount({ store, authorize: () => sees });
  const names = async () => {
    const { json } = await api(page, "overview");
    return json.limiters.map(({ name }: { name: string }) => name).sort();
  };
  expect(await names()).toEqual(["api", "secret"]);
  sees = ONLY_API;
  expect(await names()).toEqual(["api"]);
  sees = "read";
  expect(await names()).toEqual(["api", "secret"]);
});

test("the overview is complete but for the most denied clients if only these cannot be read", async () => {
  const { store } = await createFleetWithUsage(own.client);
  const { reader } = createDashboard({ store, authorize: () => "read" });
  const whole = buildOverview(await loadOverviewData(reader, "1h"));
  expect(whole.denied).toHaveLength(2);
  const loadDenied = () =>
    Promise.reject(new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "no answer within 2 s"));
  const rest = buildOverview(await loadOverviewData({ ...reader, loadDenied }, "1h"));
  const { totals, limiters } = whole;
  expect(rest).toMatchObject({ denied: null, deniedFrom: rest.at, totals, limiters });
});
