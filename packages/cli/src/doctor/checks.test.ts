import type { Registry } from "@headgate/core/admin";
import { describe, expect, test } from "vitest";
import type { Facts, KeySample, ServerFacts } from "./facts/facts.ts";
import { parseInfo, UnknownFact } from "./facts/facts.ts";
import type { ServerFinding } from "./finding.ts";
import { CHECKS } from "./report.ts";

// These cases need another server, other machines or much time, so the checks run on facts written down here.

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

const EMPTY_REGISTRY: Registry = { limiters: [], breakers: [], processes: [], unreadable: [] };

const FACTS: Facts = {
  prefix: "hg",
  topology: "server",
  storeTimeoutMs: 100,
  servers: [SERVER],
  unreachable: [],
  sentinels: [],
  registry: EMPTY_REGISTRY,
  unreadUsage: [],
  control: { version: 0, overrides: [], invalidations: [] },
};

function findingsOf(name: string, ...servers: readonly Partial<ServerFacts>[]): ServerFinding[] {
  const facts = { ...FACTS, servers: servers.map((server) => ({ ...SERVER, ...server })) };
  return [...(CHECKS.find((check) => check.name === name)?.run(facts) ?? [])];
}

describe("cluster", () => {
  test.each([
    ["ok", true, "cluster_state ok, 1 shard, calls of a server share scripts"],
    ["note", false, "cluster_state ok, 1 shard; scripts may not use keys of several hash slots"],
    ["ok", undefined, "cluster_state ok, 1 shard"],
  ])(
    "the status is %s if a server's answer to undeclared keys is %s",
    (status, allowsUndeclaredKeys, message) => {
      const hashSlots = [{ first: 0, last: 16_383, owners: ["10.0.0.7:6379", "10.0.0.8:6379"] }];
      const facts = { info: { cluster_state: "ok" }, hashSlots, allowsUndeclaredKeys };
      const [finding] = findingsOf("cluster", { cluster: facts });
      expect(finding).toMatchObject({ status, message });
    },
  );
});

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
  ])("the status is %s for %j", (status, text) => {
    const [finding] = findingsOf("version", { info: parseInfo(`# Server\r\n${text}\r\n`) });
    expect(finding?.status).toBe(status);
  });

  test("an unsupported version is a problem, with a fix", () => {
    const [finding] = findingsOf("version", { info: { redis_version: "5.0.14" } });
    expect(finding).toMatchObject({
      message: "redis 5.0.14 is older than redis 6.2",
      fix: "upgrade the server to redis 6.2 to 8",
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
    // A slow reply makes the reading less exact.
    ["ok", 1_100, 200],
  ])(
    "the status is %s if the clock is %i ms ahead, give or take %i ms",
    (status, aheadMs, errorMs) => {
      expect(findingsOf("clock", { clock: { aheadMs, errorMs } })[0]?.status).toBe(status);
    },
  );

  test("two clocks that are each close to this machine's may differ too much from each other", () => {
    const ahead = { address: "10.0.0.7:6379", clock: { aheadMs: 700, errorMs: 0.1 } };
    const behind = { address: "10.0.0.8:6379", clock: { aheadMs: -700, errorMs: 0.1 } };
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
  ])("the status is %s if %i of 200 calls are too slow", (status, slow) => {
    expect(findingsOf("latency", { latenciesMs: calls(slow) })[0]?.status).toBe(status);
  });

  test("a slow replica is ok, because no limiter waits for it", () => {
    const [finding] = findingsOf("latency", { latenciesMs: calls(200), receivesDecisions: false });
    expect(finding?.status).toBe("ok");
  });
});

describe("replicas", () => {
  const findingOfLine = (line: string): ServerFinding | undefined => {
    const info = { role: "master", master_repl_offset: "5000000", slave0: line };
    return findingsOf("replicas", { info })[0];
  };

  test.each([
    ["ok", "ip=10.0.0.8,port=6379,state=online,offset=4999000,lag=1"],
    ["warning", "ip=10.0.0.8,port=6379,state=online,offset=3000000,lag=1"],
    ["warning", "ip=10.0.0.8,port=6379,state=online,offset=4999000,lag=11"],
    ["warning", "ip=10.0.0.8,port=6379,state=wait_bgsave,offset=0,lag=0"],
  ])("the status is %s for %s", (status, line) => {
    expect(findingOfLine(line)?.status).toBe(status);
  });

  test("the finding says how far a replica lags behind", () => {
    const finding = findingOfLine("ip=10.0.0.8,port=6379,state=online,offset=3000000,lag=1");
    expect(finding?.message).toBe("1 replica, at most 1.9 MB behind, last reply 1 s ago");
  });
});

describe("min-replicas", () => {
  test("no spare replica is a note", () => {
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
    // Replication buffers do not count.
    ["ok", { used_memory: "96", maxmemory: "100", mem_not_counted_for_evict: "40" }],
  ])("the status is %s for %j", (status, info) => {
    expect(findingsOf("memory", { info })[0]?.status).toBe(status);
  });
});

describe("eviction", () => {
  test.each([
    ["note", "volatile-lru", 0],
    ["ok", "volatile-ttl", 0],
    ["note", "volatile-ttl", 7],
    ["warning", "allkeys-lfu", 0],
  ])("the status is %s for %s with %i evicted keys", (status, maxmemory_policy, evicted) => {
    const info = { maxmemory_policy, maxmemory: "100", evicted_keys: String(evicted) };
    expect(findingsOf("eviction", { info })[0]?.status).toBe(status);
  });
});

describe("script-cache", () => {
  test("many calls that miss the cache are a warning", () => {
    const info = {
      uptime_in_seconds: "86400",
      cmdstat_evalsha: "calls=10000,usec=1",
      errorstat_NOSCRIPT: "count=1001",
    };
    expect(findingsOf("script-cache", { info })[0]).toMatchObject({
      status: "warning",
      message: "1,001 calls of 10,000 EVALSHA missed the script cache",
    });
    const first = { ...info, cmdstat_evalsha: "calls=300,usec=1", errorstat_NOSCRIPT: "count=300" };
    expect(findingsOf("script-cache", { info: first })[0]?.status).toBe("ok");
    const few = { ...info, errorstat_NOSCRIPT: "count=400" };
    expect(findingsOf("script-cache", { info: few })[0]?.status).toBe("ok");
  });

  test("a rare flush is ok", () => {
    const info = { "cmdstat_script|flush": "calls=3,usec=1", uptime_in_seconds: "86400" };
    expect(findingsOf("script-cache", { info })[0]?.status).toBe("ok");
  });
});

describe("keys", () => {
  const sample: KeySample = { total: 0, scanned: 0, matched: 0, isComplete: true, inspected: [] };
  const findingOfKeys = (keys: Partial<KeySample>) =>
    findingsOf("keys", { keys: { ...sample, ...keys } })[0];
  const key = (bytes: number) => ({ key: "hg:{ann}:api:default:PBBk8jmq", ttlMs: 60_000, bytes });

  test("a complete sample gives exact numbers", () => {
    const inspected = [key(100), key(200)];
    const finding = findingOfKeys({ total: 3, scanned: 3, matched: 2, inspected });
    expect(finding?.message).toBe("2 keys of 3 begin with hg:, and take 300 bytes");
  });

  test("a partial sample gives estimates with a margin of error", () => {
    const inspected = Array.from({ length: 200 }, (_, i) => key(i % 2 === 0 ? 100 : 300));
    const some = {
      total: 1_000_000,
      scanned: 20_000,
      matched: 10_000,
      isComplete: false,
      inspected,
    };
    // 1.96 standard errors of a share of 0.5 in 20,000 are 0.00693, of a mean of 200 in 200 are 13.9.
    expect(findingOfKeys(some)?.message).toBe(
      "500,000 keys, give or take 6,930, of 1,000,000 begin with hg:, and take 95 MB, give or take 6.7 MB",
    );
  });

  test("a server with keys of other prefixes only is a note", () => {
    expect(findingOfKeys({ total: 5, scanned: 5 })?.status).toBe("note");
  });
});

describe("registry", () => {
  test("processes with different versions of Headgate are a note", () => {
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
    const findingsOfVersions = (...versions: readonly string[]) => {
      const registry = { ...EMPTY_REGISTRY, processes: versions.map(processOf) };
      return CHECKS.find(({ name }) => name === "registry")?.run({ ...FACTS, registry });
    };
    expect(findingsOfVersions("1.0.0", "1.0.0")?.[0]?.status).toBe("ok");
    expect(findingsOfVersions("1.1.0", "1.0.0")).toMatchObject([
      {
        status: "note",
        message: expect.stringMatching(/different versions .*: 1\.0\.0, 1\.1\.0$/),
      },
    ]);
  });
});

describe("load", () => {
  const at = Date.UTC(2026, 10, 22, 14);
  const processOf = (host: string, shedders: Readonly<Record<string, unknown>>) => ({
    ...{ id: host, host, pid: 7, startedAt: 0, seenAt: at, names: [], more: 0, version: "1.0.0" },
    details: Object.fromEntries(
      Object.entries(shedders).map(([name, listed]) => [`shedder ${name}`, listed]),
    ),
  });
  const episode = { from: at, until: at + 1, isOver: false, default: 8, sheddable: 3 };
  const check = (...processes: Registry["processes"]) =>
    CHECKS.find(({ name }) => name === "load")?.run({
      ...FACTS,
      registry: { ...EMPTY_REGISTRY, processes },
    });

  test("a process that sheds requests is a warning, which says whom it sheds and since when", () => {
    const sheds = processOf("web-1", {
      api: { dryRun: false, episode: { ...episode, heavySubjects: 2 } },
      admin: { dryRun: true, episode: { ...episode, until: at + 9 } },
    });
    const calm = processOf("web-2", { api: { dryRun: false } });
    expect(check(calm, sheds, processOf("worker-1", {}))).toMatchObject([
      {
        status: "warning",
        message: expect.stringMatching(
          /^1 of 2 processes with a load shedder sheds requests: web-1:7 shed 11 requests, 3 of them sheddable, 2 of heavy subjects since 2026-11-22 \d\d:00:00/,
        ),
      },
    ]);
  });

  test("a process that would shed requests in a dry run is a note, and one that shed some earlier is ok", () => {
    const dry = processOf("web-1", { api: { dryRun: true, episode } });
    const over = processOf("web-2", {
      api: { dryRun: false, episode: { ...episode, isOver: true } },
    });
    expect(check(dry)?.[0]?.status).toBe("note");
    const [finding] = check(over) ?? [];
    expect(finding?.status).toBe("ok");
    expect(finding?.message).toMatch(
      /^1 of 1 process can shed load, and none does; web-2:7 shed 11 /,
    );
    expect(check(processOf("web-1", {}))).toEqual([
      { status: "ok", message: "no process has a load shedder" },
    ]);
  });

  test("what another program wrote in place of a report breaks no check", () => {
    for (const listed of [
      null,
      1,
      "x",
      { episode: null },
      { episode: { from: "x", until: 1e300 } },
    ]) {
      expect(check(processOf("web-1", { api: listed }))).toHaveLength(1);
    }
  });
});

describe("usage", () => {
  const check = (unreadUsage: Facts["unreadUsage"]) =>
    CHECKS.find(({ name }) => name === "usage")?.run({ ...FACTS, unreadUsage });

  test("is ok if all records can be read, and a warning with commands if not", () => {
    expect(check([])).toEqual([{ status: "ok", message: "all records can be read" }]);
    expect(check([{ key: "hg:{usage}:top/a", reason: "damaged" }])).toEqual([
      expect.objectContaining({
        status: "warning",
        message: "1 record could not be read: hg:{usage}:top/a (damaged)",
        commands: ["redis-cli -h 10.0.0.7 -p 6379 DEL 'hg:{usage}:top/a'"],
      }),
    ]);
  });

  test("is unknown if the server refuses to read it", () => {
    expect(check(new UnknownFact("EVALSHA", "no answer within 5 s"))).toMatchObject([
      { status: "unknown", message: "EVALSHA failed: no answer within 5 s" },
    ]);
  });
});

describe("a fact that the server refuses", () => {
  const refused = new UnknownFact(
    "INFO",
    "NOPERM this user has no permissions to run the 'info' command",
  );

  test("is unknown, and the fix names the permission to grant", () => {
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
  ])("needs the permission %s if %s fails with: %s", (permission, command, error) => {
    expect(new UnknownFact(command, error).missingPermission).toBe(permission);
  });

  test("is unknown, without a fix if no permission is missing", () => {
    const late = new UnknownFact("INFO", "no answer within 5 s");
    expect(findingsOf("eviction", { info: late })[0]?.fix).toBeUndefined();
  });

  test("is a warning or a problem in no check", () => {
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
