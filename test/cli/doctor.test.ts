import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLimiter, gcra } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { CommandError } from "../../packages/cli/src/command/command-error.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { waitUntil } from "../support/wait-until.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { runCli } from "./run-cli.ts";
import type { DoctorRun } from "./run-doctor.ts";
import { issuesOf, paste, runDoctor } from "./run-doctor.ts";

let server: RedisProcess;
let admin: Redis;
let at: string;

beforeAll(async () => {
  server = await startRedis({
    port: true,
    // biome-ignore format: one option, one line
    args: [
      "--enable-debug-command", "yes",
      "--enable-protected-configs", "yes",
      "--repl-diskless-sync-delay", "0",
    ],
  });
  admin = new Redis(server.socket);
  at = `redis://127.0.0.1:${server.port}`;
});

afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

/** Sets options of the server, and gives them back as they were when the work is done. */
async function withConfig(
  options: Readonly<Record<string, string>>,
  work: () => Promise<void>,
): Promise<void> {
  const before = (await admin.config("GET", ...Object.keys(options))) as string[];
  await admin.config("SET", ...Object.entries(options).flat());
  try {
    await work();
  } finally {
    await admin.config("SET", ...before);
  }
}

test("headgate doctor finds no issues in a healthy server, and changes nothing", async () => {
  const before = await admin.config("GET", "*");
  const healthy = await runDoctor(at);
  expect(issuesOf(healthy)).toEqual([]);
  expect(healthy.exitCode).toBe(0);
  expect(await admin.config("GET", "*")).toEqual(before);
  expect(await admin.dbsize()).toBe(0);
});

test("an interruption ends headgate doctor without a report", async () => {
  const monitor = await admin.monitor();
  const interruption = new AbortController();
  monitor.on("monitor", (_time: string, [command]: string[]) => {
    if (command?.toLowerCase() === "time") interruption.abort(new CommandError("interrupted", 130));
  });
  const ended = await runCli(["doctor", "--redis", at], { signal: interruption.signal });
  expect(ended).toEqual({ exitCode: 130, stdout: "", stderr: "headgate: interrupted\n" });
  monitor.disconnect();
});

describe("the commands that headgate doctor prints fix", () => {
  const broken = {
    "maxmemory-policy": "allkeys-lru",
    appendonly: "yes",
    appendfsync: "always",
    "busy-reply-threshold": "60000",
    maxclients: "24",
    timeout: "30",
    "tcp-keepalive": "0",
  };
  let before: string[];
  let first: DoctorRun;
  let second: DoctorRun;

  beforeAll(async () => {
    before = (await admin.config("GET", ...Object.keys(broken))) as string[];
    await admin.config("SET", ...Object.entries(broken).flat());
    await admin.set("hg:{ann}:api:default:PBBk8jmq", "");
    await admin.call("DEBUG", "SLEEP", "0.12");
    const crowd = Array.from({ length: 20 }, () => new Redis(server.socket));
    await Promise.all(crowd.map((client) => client.ping()));
    first = await runDoctor(at, "--store-timeout", "100ms");
    for (const client of crowd) client.disconnect();
    const { checks } = first.report;
    // Two issues belong to one check: the second one is found after the first one is fixed.
    for (const { findings } of checks) {
      for (const { commands = [] } of findings) await paste(commands);
    }
    second = await runDoctor(at);
  });
  afterAll(async () => {
    await admin.config("SET", ...before);
    await admin.flushall();
    await admin.slowlog("RESET");
  });

  test.each([
    ["eviction", "warning", "maxmemory-policy allkeys-lru"],
    ["persistence", "note", "append-only file, appendfsync always"],
    ["busy-scripts", "note", "busy-reply-threshold 60000 ms"],
    ["connections", "warning", "of 24 connections open"],
    ["idle-connections", "note", "timeout 30, tcp-keepalive 0"],
    ["keys", "warning", "1 of 1 inspected keys never expire: hg:{ann}:api:default:PBBk8jmq"],
  ])("the finding of the check %s, whose status was %s", (name, status, words) => {
    expect(first.statuses[name]).toBe(status);
    expect(first.worst(name).message).toContain(words);
    expect(first.worst(name).impact).toBeDefined();
    expect(second.worst(name).message).not.toContain(words);
    if (name !== "idle-connections") expect(second.statuses[name]).toBe("ok");
  });

  test("all but a slow command, which is a warning that no command fixes", () => {
    expect(first.statuses["slow-commands"]).toBe("warning");
    expect(first.worst("slow-commands").message).toMatch(/the slowest DEBUG, 1\d\d ms, \d+ s ago/);
  });

  test("the exit code: it is 1 before, and 0 afterwards", () => {
    expect([first.exitCode, second.exitCode]).toEqual([1, 0]);
  });
});

test("headgate doctor reports full memory as a problem", async () => {
  await withConfig({ maxmemory: "1mb", "maxmemory-policy": "noeviction" }, async () => {
    await expect(admin.set("more", "")).rejects.toThrow("OOM");
    const full = await runDoctor(at);
    expect(full.statuses["memory"]).toBe("problem");
    await paste(full.worst("memory").commands);
    expect((await runDoctor(at)).statuses["memory"]).toBe("ok");
    await admin.set("more", "", "PX", 1);
  });
});

test("headgate doctor reports a failed snapshot as a problem if writes are refused", async () => {
  const dir = mkdtempSync(join(tmpdir(), "headgate-doctor-"));
  await withConfig({ dir, save: "3600 1", "stop-writes-on-bgsave-error": "yes" }, async () => {
    rmSync(dir, { recursive: true });
    await admin.bgsave();
    await waitUntil("the snapshot failed", 5_000, async () =>
      (await admin.info("persistence")).includes("rdb_last_bgsave_status:err") ? true : undefined,
    );
    const failed = await runDoctor(at);
    expect(failed.statuses["persistence"]).toBe("problem");
    await paste(failed.worst("persistence").commands);
    expect((await runDoctor(at)).statuses["persistence"]).toBe("ok");
    await admin.set("some", "", "PX", 1);
  });
});

test("headgate doctor reports missing replicas as a problem if writes need them", async () => {
  await withConfig({ "min-replicas-to-write": "1" }, async () => {
    await expect(admin.set("some", "")).rejects.toThrow("NOREPLICAS");
    const without = await runDoctor(at);
    expect(without.statuses["min-replicas"]).toBe("problem");
    await paste(without.worst("min-replicas").commands);
    expect((await runDoctor(at)).statuses["min-replicas"]).toBe("ok");
    await admin.set("some", "", "PX", 1);
  });
});

test("headgate doctor warns about frequent flushes of the script cache", async () => {
  const flushing = setInterval(() => void admin.script("FLUSH"), 50);
  const flushed = await runDoctor(at).finally(() => clearInterval(flushing));
  expect(flushed.statuses["script-cache"]).toBe("warning");
  expect(flushed.worst("script-cache").message).toMatch(
    /^the server dropped a script from its cache within \d+ ms$/,
  );
  for (let i = 0; i < 3; i += 1) await admin.script("FLUSH");
  const counted = await runDoctor(at);
  expect(counted.worst("script-cache").message).toMatch(/^SCRIPT FLUSH ran \d+ times in \d+ s$/);
  await admin.config("RESETSTAT");
  expect((await runDoctor(at)).statuses["script-cache"]).toBe("ok");
});

test("headgate doctor reports replies later than the store timeout as a problem", async () => {
  const proxy = await startTcpProxy({ port: server.port });
  proxy.delayReplies(25);
  const slow = await runDoctor(`redis://127.0.0.1:${proxy.port}`, "--store-timeout", "20ms");
  await proxy.close();
  expect(slow.statuses["latency"]).toBe("problem");
  expect(slow.worst("latency").message).toMatch(
    /^\d+ calls, p50 \d\d ms, p99 \d+ ms; limiters wait/,
  );
});

test("headgate doctor warns about a difference between the clocks", async () => {
  // Whichever of the two is wrong: they are 90 seconds apart.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 90_000 });
  const apart = await runDoctor(at).finally(() => vi.useRealTimers());
  expect(apart.statuses["clock"]).toBe("warning");
  expect(apart.worst("clock").message).toMatch(/^(8\d|90)\.\d s behind this machine's/);
  expect((await runDoctor(at)).statuses["clock"]).toBe("ok");
});

test("headgate doctor reports a replica used as a primary as a problem", async () => {
  const args = ["--replicaof", "127.0.0.1", String(server.port)];
  const replica = await startRedis({ port: true, args });
  try {
    const there = `redis://127.0.0.1:${replica.port}`;
    await waitUntil("the replica is connected", 10_000, async () =>
      (await admin.info("replication")).includes("state=online") ? true : undefined,
    );
    const wrong = await runDoctor(there);
    expect(wrong.statuses["role"]).toBe("problem");
    expect(wrong.worst("role").fix).toContain(`connect to the primary, 127.0.0.1:${server.port}`);
    const right = await runDoctor(at);
    expect(issuesOf(right)).toEqual([]);
    // The replica is checked as well.
    expect(right.worst("servers").message).toContain(`127.0.0.1:${replica.port}`);
    await replica.restart(["--replicaof", "127.0.0.1", "1"]);
    const alone = await runDoctor(there);
    expect(alone.statuses["replicas"]).toBe("warning");
    expect(alone.worst("replicas").message).toBe("not connected to its primary 127.0.0.1:1");
  } finally {
    await replica.stop();
  }
});

describe("headgate doctor checks the records of limiters", () => {
  test("two policies under one name are a warning", async () => {
    const clients = [new Redis(server.socket), new Redis(server.socket)];
    const stores = clients.map((client) => redisStore(client));
    const limiters = stores.map((store, i) =>
      createLimiter({ name: "orders", limits: gcra({ limit: 10 + i, window: "1m" }), store }),
    );
    for (const store of stores) await writeRegistry(store);
    const mixed = await runDoctor(at);
    expect(mixed.statuses["registry"]).toBe("warning");
    expect(mixed.worst("registry").message).toMatch(
      /^orders has 2 versions of its policy: one in \S+:\d+, another in/,
    );
    await limiters[0]?.close();
    expect((await runDoctor(at)).statuses["registry"]).toBe("ok");
    await limiters[1]?.close();
    for (const client of clients) client.disconnect();
  });

  test("an override without an end date is a warning", async () => {
    const by = createAdmin(redisStore(admin));
    const target = { limiter: "the orders", subject: { user: "it's ann" } };
    await by.setOverride({ ...target, shadow: true }, { for: "forever" });
    const endless = await runDoctor(at);
    expect(endless.statuses["overrides"]).toBe("warning");
    const command = `headgate unset --limiter 'the orders' --subject 'user=it'\\''s ann'`;
    expect(endless.worst("overrides")).toMatchObject({
      message: "1 override, 1 without an end date: the orders for it's ann",
      fix: expect.stringContaining(command),
    });
    // The control record then needs no expiry.
    expect(endless.statuses["keys"]).toBe("ok");
    // The arguments as the shell parses them.
    const given = ["--limiter", "the orders", "--subject", "user=it's ann", "--yes", "--redis", at];
    const limits = [
      "--limits",
      JSON.stringify({ ...gcra({ limit: 5, window: "1m", per: "user" }) }),
    ];
    const { exitCode, stderr } = await runCli(["unset", ...given, ...limits]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect((await runDoctor(at)).statuses["overrides"]).toBe("ok");
  });

  test("damaged records are found", async () => {
    await admin.set("bad:{control}", "no sense", "EX", 60);
    await admin.set("bad:{registry}", "no sense", "EX", 60);
    const damaged = await runDoctor(at, "--prefix", "bad");
    expect(damaged.statuses).toMatchObject({ overrides: "problem", registry: "warning" });
    expect(damaged.worst("registry").message).toBe(
      "1 record could not be read: bad:{registry} (wrong-type)",
    );
    await paste(damaged.worst("overrides").commands);
    await paste(damaged.worst("registry").commands);
    const whole = await runDoctor(at, "--prefix", "bad");
    expect(issuesOf(whole)).toEqual([]);
  });
});

test("the report of headgate doctor has a line for each check, the findings with the worst first, and counts", async () => {
  // A busy machine has slow commands of its own.
  const config = { "maxmemory-policy": "allkeys-lru", "slowlog-log-slower-than": "10000000" };
  await withConfig(config, async () => {
    await admin.slowlog("RESET");
    const { exitCode, stdout, stderr } = await runCli(["doctor", "--redis", at], { terminal: 120 });
    expect([exitCode, stderr]).toEqual([1, ""]);
    expect(stdout).toContain("\u001b[33m! warning\u001b[39m  eviction");
    const plain = await runCli(["doctor", "--redis", at], {
      terminal: 120,
      environment: { NO_COLOR: "1" },
    });
    expect(plain.stdout).not.toContain("\u001b");
    const lines = plain.stdout.split("\n");
    expect(lines[2]).toMatch(/^✓ ok {7}servers {11}1 server: 127\.0\.0\.1:\d+$/);
    expect(lines.find((line) => line.startsWith("! eviction: "))).toBeDefined();
    const explained = lines.filter((line) => /^[!-] [\w-]+: /.test(line)).map((line) => line[0]);
    expect(explained).toEqual(["!", "-", "-"]);
    expect(lines).toContain("    See:    headgate doctor --explain eviction");
    expect(lines.at(-2)).toBe("23 checks: 20 ok, 2 notes, 1 warning, 0 problems, 0 unknown.");
  });
});

test.each([
  [["--role", "king"], "headgate: --role must be application, reader, operator, got king\n"],
  [
    ["--store-timeout", "soon"],
    'headgate: --store-timeout must be a time from 1ms to 1m, such as 250ms, 10s, 1m, 1h or 7d, got "soon"\n',
  ],
])("headgate doctor rejects the options %j", async (args, message) => {
  const { exitCode, stdout, stderr } = await runCli(["doctor", "--redis", at, ...args]);
  expect([exitCode, stdout, stderr]).toEqual([2, "", message]);
});
