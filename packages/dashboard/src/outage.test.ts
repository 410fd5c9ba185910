import { memoryStore } from "@headgate/core";
import { expect, test } from "vitest";
import { addressesOf, OutageTracker } from "./outage.ts";

test.each([
  ["ioredis", { options: { host: "redis-1", port: 6380, password: "p4ss" } }, ["redis-1:6380"]],
  ["ioredis on a Unix socket", { options: { host: "localhost", path: "/run/r" } }, ["/run/r"]],
  [
    "ioredis with sentinels",
    { options: { host: "localhost", sentinels: [{ host: "s1", port: 26379 }, { host: "s2" }] } },
    ["s1:26379", "s2:6379"],
  ],
  [
    "ioredis for a cluster",
    { options: {}, startupNodes: [7000, { host: "n2", port: 7001 }, "redis://me:p4ss@n3:7002"] },
    ["127.0.0.1:7000", "n2:7001", "n3:7002"],
  ],
  [
    "ioredis for a cluster, with URLs that have no scheme",
    {
      startupNodes: [
        "n1:7001",
        "me:p4ss@n2:7002",
        "//me:p4ss@n3:7003",
        "rediss://:p4ss@[::1]:7004/?password=p4ss",
        "me:p4ss@:7005",
        "me:p4ss@n6:port",
      ],
    },
    ["n1:7001", "n2:7002", "n3:7003", "[::1]:7004"],
  ],
  [
    "node-redis",
    { options: { url: "redis://me:p4ss@r:1", socket: { host: "r", port: 1 } } },
    ["r:1"],
  ],
  ["node-redis for a cluster", { masters: [{ address: "m1:7000" }] }, ["m1:7000"]],
  ["an unknown client", {}, []],
])("names the servers of %s, without credentials", (_, client, addresses) => {
  expect(addressesOf(client).servers).toEqual(addresses);
});

test("tells servers of Redis from those through which a client finds Redis", () => {
  const isDirect = (client: object) => addressesOf(client).isDirect;
  expect(isDirect({ options: { host: "redis-1", sentinels: null } })).toBe(true);
  expect(isDirect({ masters: [{ address: "m1:7000" }] })).toBe(true);
  expect(isDirect({ options: { sentinels: [{ host: "s1", port: 26379 }] } })).toBe(false);
  expect(isDirect({ options: {}, startupNodes: [7000] })).toBe(false);
});

test("an outage ends with an answer, which may be an error", async () => {
  const outages = new OutageTracker(memoryStore());
  const fail = (code: string) =>
    outages.watch(Promise.reject(Object.assign(new Error(code), { code }))).catch(() => {});
  for (const answer of [
    () => outages.watch(Promise.resolve()),
    () => fail("HEADGATE_STORE_MISCONFIGURED"),
  ]) {
    await fail("HEADGATE_STORE_UNAVAILABLE");
    expect(outages.current()).toBeDefined();
    await answer();
    expect(outages.current()).toBeUndefined();
  }
});
