import { afterAll, beforeAll, expect, test } from "vitest";
import type { RedisSentinel, SentinelNode } from "../support/redis-sentinel.ts";
import { startSentinel } from "../support/redis-sentinel.ts";
import type { DoctorRun } from "./run-doctor.ts";
import { issuesOf, runDoctor } from "./run-doctor.ts";

let set: RedisSentinel;

beforeAll(async () => {
  set = await startSentinel();
});
afterAll(() => set.stop());

function examine(): Promise<DoctorRun> {
  const hosts = set.addresses.map(({ host, port }) => `${host}:${port}`).join(",");
  return runDoctor(`redis://${hosts}`, "--sentinel", set.name, "--timeout", "500ms");
}

const placesOf = (nodes: readonly SentinelNode[]) => nodes.map(({ port }) => `127.0.0.1:${port}`);

test("headgate doctor checks the primary, its replicas and each Sentinel", async () => {
  const healthy = await examine();
  expect(issuesOf(healthy)).toEqual([]);
  expect(healthy.exitCode).toBe(0);
  expect([...healthy.worst("version").servers].sort()).toEqual(placesOf(set.nodes).sort());
  expect(healthy.worst("sentinels")).toMatchObject({
    message: expect.stringMatching(/^names 127\.0\.0\.1:\d+; OK 3 usable Sentinels/),
    servers: placesOf(set.sentinels),
  });
  expect(healthy.worst("replicas").message).toMatch(/^(2 replicas, at most|connected with)/);
});

test("headgate doctor warns about a stopped Sentinel and a frozen replica", async () => {
  const sentinel = set.sentinels[2] as SentinelNode;
  const primary = await set.primary();
  const replica = set.nodes.find((node) => node !== primary) as SentinelNode;
  await sentinel.process.kill();
  replica.process.freeze();
  const without = await examine();
  replica.process.thaw();
  expect(without.exitCode).toBe(1);
  expect(without.worst("sentinels")).toMatchObject({
    status: "warning",
    message: expect.stringContaining("ECONNREFUSED"),
    servers: placesOf([sentinel]),
  });
  expect(without.worst("servers")).toMatchObject({
    status: "warning",
    message: expect.stringMatching(/^a replica does not answer: /),
    servers: placesOf([replica]),
  });
});
