import type { Registry } from "@headgate/core/admin";
import { describe, expect, test } from "vitest";
import { CHECKS } from "./checks.ts";
import { UnknownFact } from "./facts/fact.ts";
import type { Facts, ServerFacts } from "./facts/facts.ts";
import { parseInfo } from "./facts/info.ts";
import type { KeySample } from "./facts/sample-keys.ts";
import type { ServerFinding } from "./finding.ts";

// What takes another server, other machines or much time to bring about: judged from facts that are written down here.

const SERVER: ServerFacts = {
  address: "10.0.0.7:6379",
  redisCliArgs: ["-h", "10.0.0.7", "-p", "6379"],
  receivesDecisions: true,
  info: { role: "master", redis_version: "7.0.15" },
  config: {},
  latenciesMs: [1],
  clock: { aheadMs: 0, errorMs: 0.1 },
  slowCommands: [],
  scriptCache: { watchedMs: 250, lostAfterMs: undefined },
  permissions: undefined,
  keys: undefined,
  cluster: undefined,
};

const EMPTY_REGISTRY: Registry = { limiters: [], breakers: [], processes: [], unread: [] };

const FACTS: Facts = {
  prefix: "hg",
  topology: "server",
  storeTimeoutMs: 100,
  servers: [SERVER],
  unreachable: [],
  sentinels: [],
  registry: EMPTY_REGISTRY,
  unreadUsage: [],
  control: { version: 0, overrides: [], orders: [] },
};

function findingsOf(name: string, ...servers: readonly Partial<ServerFacts>[]): ServerFinding[] {
  const facts = { ...FACTS, servers: servers.map((server) => ({ ...SERVER, ...server })) };
  return [...(CHECKS.find((check) => check.name === name)?.run(facts) ?? [])];
}

describe("version", () => {
  // The first lines of INFO, as these servers write them.
  test.each([
    ["problem", "redis_version:5.0.14\r\nredis_git_sha1:00000000\r\nredis_mode:standalone"],
    ["problem", "redis_version:6.0.16\r\nredis_git_sha1:00000000\r\nredis_mode:standalone"],
    ["ok", "redis_version:6.2.14\r\nredis_git_sha1:00000000\r\nredis_mode:standalone"],
    ["ok", "redis_version:8.2.1\r\nredis_git_sha1:00000000\r\nredis_mode:standalone"],
    ["note", "redis_version:9.0.0\r\nredis_git_sha1:00000000\r\nredis_mode:standalone"],
    ["ok", "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.3"],
    ["ok", "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:7.2.11"],
    ["note", "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:10.0.0"],
    ["note", "redis_version:7.4.0\r\ndragonfly_version:df-v1.30.0"],
  ])("%s: %j", (status, text) => {
    const [finding] = findingsOf("version", { info: parseInfo(`# Server\r\n${text}\r\n`) });
    expect(finding?.status).toBe(status);
  });

  test("an old one is named, with what to do", () => {
    const [finding] = findingsOf("version", { info: { redis_version: "5.0.14" } });
    expect(finding).toMatchObject({
      found: "redis 5.0.14 is older than redis 6.2",
      mend: "upgrade the server to redis 6.2 to 8",
      server: "10.0.0.7:6379",
    });
  });
});

describe("clock", () => {
  test.each([
    ["ok", 900, 0.1],
    ["ok", -900, 0.1],
    ["warning", 1_100, 0.1],
    ["warning", -1_100, 0.1],
    // A slow answer says less.
    ["ok", 1_100, 200],
  ])("%s where it is %i ms ahead, give or take %i ms", (status, aheadMs, errorMs) => {
    expect(findingsOf("clock", { clock: { aheadMs, errorMs } })[0]?.status).toBe(status);
  });

  test("two servers, neither far from here, may be far from each other", () => {
    const ahead = { address: "10.0.0.7:6379", clock: { ahead: 700, within: 0.1 } };
    const behind = { address: "10.0.0.8:6379", clock: { ahead: -700, within: 0.1 } };
    const findings = findingsOf("clock", ahead, behind);
    expect(findings.map(({ status }) => status)).toEqual(["ok", "ok", "warning"]);
    expect(findings[2]?.message).toBe("10.0.0.7:6379 is 1.4 s ahead of 10.0.0.8:6379");
    expect(findingsOf("clock", ahead, { clock: { aheadMs: 0, errorMs: 0.1 } })).toHaveLength(2);
  });
});

describe("latency", () => {
  const calls = (slow: number): number[] => [
    ...Array.from({ length: 200 - slow }, () => 1),
    ...Array.from({ length: slow }, () => 150),
  ];

  test.each([
    ["ok", 1],
    ["warning", 3],
    ["problem", 101],
  ])("%s where, of 200 calls, %i are late", (status, slow) => {
    expect(findingsOf("latency", { latenciesMs: calls(slow) })[0]?.status).toBe(status);
  });

  test("nobody waits for a replica", () => {
    const [finding] = findingsOf("latency", { latenciesMs: calls(200), receivesDecisions: false });
    expect(finding?.status).toBe("ok");
  });
});

describe("replicas", () => {
  const judgeLine = (line: string): ServerFinding | undefined => {
    const info = { role: "master", master_repl_offset: "5000000", slave0: line };
    return findingsOf("replicas", { info })[0];
  };

  test.each([
    ["ok", "ip=10.0.0.8,port=6379,state=online,offset=4999000,lag=1"],
    ["warning", "ip=10.0.0.8,port=6379,state=online,offset=3000000,lag=1"],
    ["warning", "ip=10.0.0.8,port=6379,state=online,offset=4999000,lag=11"],
    ["warning", "ip=10.0.0.8,port=6379,state=wait_bgsave,offset=0,lag=0"],
  ])("%s: %s", (status, line) => {
    expect(judgeLine(line)?.status).toBe(status);
  });

  test("how far it is behind", () => {
    const finding = judgeLine("ip=10.0.0.8,port=6379,state=online,offset=3000000,lag=1");
    expect(finding?.message).toBe("1 replica, at most 1.9 MB behind, last heard 1 s ago");
  });
});

describe("min-replicas", () => {
  test("none to spare", () => {
    const info = { role: "master", min_slaves_good_slaves: "1" };
    const config = { "min-replicas-to-write": "1" };
    expect(findingsOf("min-replicas", { info, config })[0]?.status).toBe("note");
  });
});

describe("memory", () => {
  test.each([
    ["ok", { used_memory: "10", total_system_memory: "100" }],
    ["warning", { used_memory: "81", total_system_memory: "100" }],
    ["warning", { used_memory: "81", maxmemory: "100", maxmemory_policy: "noeviction" }],
    ["problem", { used_memory: "96", maxmemory: "100", maxmemory_policy: "noeviction" }],
    ["note", { used_memory: "96", maxmemory: "100", maxmemory_policy: "volatile-ttl" }],
    // What replicas have not got yet does not count.
    ["ok", { used_memory: "96", maxmemory: "100", mem_not_counted_for_evict: "40" }],
  ])("%s: %j", (status, info) => {
    expect(findingsOf("memory", { info })[0]?.status).toBe(status);
  });
});

describe("eviction", () => {
  test.each([
    ["note", "volatile-lru", 0],
    ["ok", "volatile-ttl", 0],
    ["note", "volatile-ttl", 7],
    ["warning", "allkeys-lfu", 0],
  ])("%s: %s with %i evicted", (status, maxmemory_policy, evicted) => {
    const info = { maxmemory_policy, maxmemory: "100", evicted_keys: String(evicted) };
    expect(findingsOf("eviction", { info })[0]?.status).toBe(status);
  });
});

describe("script-cache", () => {
  test("many calls that met a script that was forgotten", () => {
    const info = {
      uptime_in_seconds: "86400",
      cmdstat_evalsha: "calls=10000,usec=1",
      errorstat_NOSCRIPT: "count=1001",
    };
    expect(findingsOf("script-cache", { info })[0]).toMatchObject({
      status: "warning",
      found: "1,001 calls of 10,000 EVALSHA found that the server had forgotten the script",
    });
    const first = { ...info, cmdstat_evalsha: "calls=300,usec=1", errorstat_NOSCRIPT: "count=300" };
    expect(findingsOf("script-cache", { info: first })[0]?.status).toBe("ok");
    const few = { ...info, errorstat_NOSCRIPT: "count=400" };
    expect(findingsOf("script-cache", { info: few })[0]?.status).toBe("ok");
  });

  test("a flush now and then", () => {
    const info = { "cmdstat_script|flush": "calls=3,usec=1", uptime_in_seconds: "86400" };
    expect(findingsOf("script-cache", { info })[0]?.status).toBe("ok");
  });
});

describe("keys", () => {
  const sample: KeySample = { total: 0, scanned: 0, matched: 0, isComplete: true, asked: [] };
  const judgeKeys = (keys: Partial<KeySample>) =>
    findingsOf("keys", { keys: { ...sample, ...keys } })[0];
  const key = (bytes: number) => ({ key: "hg:{ann}:api:default:PBBk8jmq", ttl: 60_000, bytes });

  test("all of them, exactly", () => {
    const asked = [key(100), key(200)];
    const finding = judgeKeys({ total: 3, scanned: 3, matched: 2, asked });
    expect(finding?.message).toBe("2 keys of 3 begin with hg:, and take 300 bytes");
  });

  test("some of them, with how much that may be wrong", () => {
    const asked = Array.from({ length: 200 }, (_, i) => key(i % 2 === 0 ? 100 : 300));
    const some = { total: 1_000_000, scanned: 20_000, matched: 10_000, isComplete: false, asked };
    // Half of all: 1.96 standard errors of a share of 0.5 in 20,000 are 0.00693, of a mean of 200 in 200 are 13.9.
    expect(judgeKeys(some)?.message).toBe(
      "500,000 keys, give or take 6,930, of 1,000,000 begin with hg:, and take 95 MB, give or take 6.7 MB",
    );
  });

  test("none, where there are others", () => {
    expect(judgeKeys({ total: 5, scanned: 5 })?.status).toBe("note");
  });
});

describe("directory", () => {
  test("processes of different versions", () => {
    const processOf = (version: string): Registry["processes"][number] => ({
      ...{
        id: version,
        host: "web-1",
        pid: 1,
        startedAt: 0,
        seenAt: 0,
        names: [],
        more: 0,
        version,
      },
    });
    const judgeVersions = (...versions: readonly string[]) => {
      const registry = { ...EMPTY_REGISTRY, processes: versions.map(processOf) };
      return CHECKS.find(({ name }) => name === "directory")?.run({ ...FACTS, registry });
    };
    expect(judgeVersions("1.0.0", "1.0.0")?.[0]?.status).toBe("ok");
    expect(judgeVersions("1.1.0", "1.0.0")).toMatchObject([
      { status: "note", found: expect.stringMatching(/different versions .*: 1\.0\.0, 1\.1\.0$/) },
    ]);
  });
});

describe("what a server does not say", () => {
  const refused = new UnknownFact(
    "INFO",
    "NOPERM this user has no permissions to run the 'info' command",
  );

  test("is unknown, with what to grant", () => {
    const [finding] = findingsOf("eviction", { info: refused });
    expect(finding?.status).toBe("unknown");
    expect(finding?.fix).toContain("grant +info to");
  });

  test.each([
    ["+slowlog|get", "SLOWLOG GET", "ERR unknown command 'SLOWLOG'"],
    [
      "+config|get",
      "CONFIG GET",
      "NOPERM User app has no permissions to run the 'config|get' command",
    ],
    [
      "+get",
      "EVALSHA",
      "ERR ACL failure in script: User app has no permissions to run the 'get' command",
    ],
  ])("needs %s where %s is refused: %s", (grant, asked, why) => {
    expect(new UnknownFact(asked, why).missingPermission).toBe(grant);
  });

  test("is unknown, without a grant where none lacks", () => {
    const late = new UnknownFact("INFO", "no answer within 5 s");
    expect(findingsOf("eviction", { info: late })[0]?.fix).toBeUndefined();
  });

  test("is no fault of any check", () => {
    const silent = {
      info: refused,
      config: refused,
      latenciesMs: refused,
      clock: refused,
      slowCommands: refused,
      scriptCache: refused,
      permissions: refused,
      keys: refused,
      cluster: refused,
    };
    for (const { name } of CHECKS) {
      for (const { status } of findingsOf(name, silent)) {
        expect(["ok", "note", "unknown"], name).toContain(status);
      }
    }
  });
});
