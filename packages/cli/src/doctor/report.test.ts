import { expect, test } from "vitest";
import type { Facts } from "./facts/facts.ts";
import { UnknownFact } from "./facts/facts.ts";
import { runChecks } from "./report.ts";

const unknown = new UnknownFact("INFO", "no answer within 5 s");

function serverWith(address: string, policy: string): Facts["servers"][number] {
  return {
    address,
    redisCliArgs: ["-h", address],
    receivesDecisions: true,
    info: { role: "master", maxmemory_policy: policy },
    config: unknown,
    latenciesMs: unknown,
    clock: unknown,
    slowCommands: unknown,
    scriptCache: unknown,
    permissions: undefined,
    keys: undefined,
    cluster: undefined,
  };
}

const facts: Facts = {
  prefix: "hg",
  topology: "cluster",
  storeTimeoutMs: 100,
  servers: [
    serverWith("a", "noeviction"),
    serverWith("b", "allkeys-lru"),
    serverWith("c", "allkeys-lru"),
  ],
  unreachable: [],
  sentinels: [],
  registry: unknown,
  unreadUsage: [],
  control: unknown,
};

test("equal findings of several servers become one, the worst first, with a command for each server", () => {
  const { checks, counts } = runChecks("redis://a", facts);
  const eviction = checks.find(({ name }) => name === "eviction");
  expect(eviction).toMatchObject({ status: "warning", docs: "headgate doctor --explain eviction" });
  expect(eviction?.findings.map(({ status, servers }) => [status, servers])).toEqual([
    ["warning", ["b", "c"]],
    ["ok", ["a"]],
  ]);
  expect(eviction?.findings[0]?.commands).toEqual([
    "redis-cli -h b CONFIG SET maxmemory-policy volatile-ttl",
    "redis-cli -h c CONFIG SET maxmemory-policy volatile-ttl",
  ]);
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(checks.length);
  expect(counts.warning).toBe(1);
});
