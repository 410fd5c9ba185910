import { expect, test } from "vitest";
import type { Visitor } from "../access/visitor.ts";
import { SnapshotCache } from "../caches.ts";
import type { FleetReader } from "../fleet-reader.ts";
import type { DoctorReport } from "../options.ts";
import { buildRedisView, findingsWithTimeout } from "./redis.ts";

const report = { checks: [{ findings: [{ status: "ok", message: "all is well" }] }] };

test("a doctor that does not finish in time is reported as a finding", async () => {
  expect(await findingsWithTimeout(1, () => new Promise(() => {}))).toEqual([
    { level: "warning", title: "The doctor has not finished within 0.001 seconds" },
  ]);
});

test("a doctor that finishes in time gives its findings, and its error is thrown", async () => {
  expect(await findingsWithTimeout(60_000, async () => report)).toMatchObject([
    { level: "ok", title: "all is well" },
  ]);
  const failing = () => Promise.reject(new Error("ill"));
  await expect(findingsWithTimeout(60_000, failing)).rejects.toThrow("ill");
});

/** The view for a visitor who may see all limiters, at a time in milliseconds that `setNow` changes. */
function viewOf(doctor: () => Promise<DoctorReport>) {
  let now = 0;
  const cache = new SnapshotCache(() => now);
  const cacheRead: FleetReader["cacheRead"] = (...read) => cache.get(...read);
  const reader = {
    client: {},
    timeoutMs: 1,
    cacheRead,
    loadControl: async () => ({ latencyMs: 1 }),
    serverTime: async () => 0,
  } as unknown as FleetReader;
  const visitor = { isRestricted: false } as Visitor;
  return {
    setNow(at: number) {
      now = at;
    },
    build: () => buildRedisView(reader, visitor, doctor),
  };
}

test("a doctor that fails is called at most every 30 seconds, like any other", async () => {
  let calls = 0;
  const view = viewOf(async () => {
    calls += 1;
    throw new Error("ill");
  });
  for (const now of [0, 2_000, 29_999]) {
    view.setNow(now);
    await expect(view.build()).rejects.toThrow("ill");
  }
  expect(calls).toBe(1);
  view.setNow(30_000);
  await expect(view.build()).rejects.toThrow("ill");
  expect(calls).toBe(2);
});

test("the view of Redis does not wait for a doctor that works for longer than a call to Redis may take", async () => {
  const { build } = viewOf(() => new Promise(() => {}));
  expect(await build()).toMatchObject({ latencyMs: 1, findings: [] });
});
