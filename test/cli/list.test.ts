import { stripVTControlCharacters } from "node:util";
import { createBreaker } from "@headgate/breaker";
import type { Duration, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, tokenBucket } from "@headgate/core";
import type { NewOverride } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { readOverrides } from "../../packages/cli/src/list/limiters.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { expectDocument } from "./json-schema.ts";
import type { RunOptions } from "./run-cli.ts";
import { runCli } from "./run-cli.ts";

const own = useOwnRedis();
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** What a process of the fleet has: each with a client of its own, as if it ran elsewhere. */
async function list(
  make: (store: ReturnType<typeof redisStore>) => readonly { close(): Promise<void> }[],
) {
  const client = new Redis(own.server.socket);
  const store = redisStore(client);
  const made = make(store);
  closing.push(() => client.disconnect(), ...made.map((one) => () => one.close()));
  await writeRegistry(store);
}

function headgate(args: string, options: RunOptions = {}) {
  return runCli([...args.split(" "), "--redis", own.server.socket], options);
}

const api = gcra({ limit: 100, window: "1m" });

function limiter(name: string, limits: Parameters<typeof createLimiter>[0]["limits"]) {
  return (store: ReturnType<typeof redisStore>): readonly Limiter[] => [
    createLimiter({ name, limits, store, storeTimeout: "10s" }),
  ];
}

describe("headgate limiters", () => {
  test("lists limiters with their limits, and marks policies that differ between processes", async () => {
    await list(limiter("api", api));
    await list(limiter("api", gcra({ limit: 200, window: 60_000, burst: 20 })));
    await list(
      limiter("login", [
        fixedWindow({ limit: 5, window: "month", timeZone: "Europe/Oslo", block: ["1m", "1h"] }),
        tokenBucket({
          capacity: 50,
          refill: 10,
          every: "1s",
          per: "account",
          name: "calls",
          block: { after: 10, for: "1h" },
        }),
      ]),
    );
    const { exitCode, stdout, stderr } = await headgate("limiters");
    expect([exitCode, stderr]).toEqual([0, ""]);
    const [head, ...lines] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {3,}/));
    expect(head).toEqual(["LIMITER", "LIMITS", "PROCESSES", "NOTES"]);
    expect(lines.sort()).toEqual([
      ["api", "100 per 1m (gcra)", "1", "version B of 2"],
      ["api", "200 per 1m, burst 20 (gcra)", "1", "version A of 2"],
      [
        "login",
        "5 per calendar month, Europe/Oslo, blocks for 1m, then 1h (fixedWindow); calls: 50 at once, 10 more every 1s for each account, blocks for 1h after 10 denials (tokenBucket)",
        "1",
      ],
    ]);
  });

  test("lists the overrides that are in force, and when they end", async () => {
    await list(limiter("api", api));
    const admin = createAdmin(redisStore(own.client));
    await admin.setOverride(
      { limiter: "api", limits: { "100-per-1m": { limit: 500 } } },
      { for: "2h" },
    );
    await admin.setOverride(
      { limiter: "api", subject: { default: "ann" }, shadow: true },
      { for: "forever" },
    );
    const { stdout } = await headgate("limiters");
    const [, overrides = ""] = stdout.split("\n\n");
    const rows = overrides
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {3,}/));
    expect(rows[0]).toEqual(["OVERRIDE OF", "SUBJECT", "SETS", "ENDS", "IN FORCE"]);
    expect(rows).toContainEqual([
      "api",
      "ann",
      "in shadow mode",
      "when it is removed",
      "in 1 process",
    ]);
    const [, sale] = rows.filter(([, subject]) => subject !== "ann");
    expect(sale?.slice(0, 3)).toEqual(["api", "(all subjects)", "100-per-1m: limit 500"]);
    expect(sale?.[4]).toBe("in 1 process");
    expect(sale?.[3]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+ \(in 2 h\)$|\(in 2 h 1 min\)$/);
  });

  test("lists overrides that some or all processes ignore, with the reason, and so do inspect and doctor", async () => {
    await list(limiter("api", gcra({ limit: 200, window: "1m" })));
    await list(limiter("api", gcra({ limit: 200, window: "1m", per: "user" })));
    const admin = createAdmin(redisStore(own.client));
    const set = async (override: NewOverride) => admin.setOverride(override);
    // The limit's name changed with a deploy.
    await set({ limiter: "api", limits: { "100-per-1m": { limit: 500 } } });
    await set({ limiter: "api", subject: { user: "ann" }, shadow: true });
    await set({ limiter: "gone", shadow: true });
    const { stdout } = await headgate("limiters --json");
    const { overrides } = expectDocument("limiters", stdout) as {
      overrides: { limiter: string; subject?: object; coverage: object }[];
    };
    const renamed = 'no limit is called "100-per-1m"; the limits are "200-per-1m"';
    const absent = 'no limit counts by "user"; this limiter counts by default';
    const gone = "no listed process has this limiter";
    expect(overrides.map(({ coverage }) => coverage)).toEqual([
      {
        state: "ignored",
        applyingProcesses: 0,
        ignored: [{ reason: renamed, processes: 1 }],
        unknownProcesses: 0,
      },
      {
        state: "partial",
        applyingProcesses: 1,
        ignored: [{ reason: absent, processes: 1 }],
        unknownProcesses: 0,
      },
      {
        state: "ignored",
        applyingProcesses: 0,
        ignored: [{ reason: gone, processes: 0 }],
        unknownProcesses: 0,
      },
    ]);
    const text = (await headgate("limiters")).stdout;
    expect(text).toContain(`ignored: ${renamed}`);
    expect(text).toContain(`in 1 process; ignored by 1 process: ${absent}`);
    const inspected = await headgate("inspect zoe --limiter api");
    expect(inspected.stdout).toContain(
      `override, ignored because ${renamed}: 100-per-1m: limit 500; for (all subjects)`,
    );
    const { stdout: json } = await headgate("inspect --subject user=ann --limiter api --json");
    const document = expectDocument("inspect", json) as { limiters: { overrides: object[] }[] };
    expect(document.limiters.flatMap((one) => one.overrides)).toMatchObject([
      { limits: { "100-per-1m": { limit: 500 } }, ignoredBecause: renamed },
      { subject: { user: "ann" }, shadow: true },
    ]);
    const examined = await runCli(["doctor", "--redis", own.server.socket, "--json"]);
    const { checks } = expectDocument("doctor", examined.stdout) as {
      checks: { name: string; status: string; findings: { message: string }[] }[];
    };
    const check = checks.find(({ name }) => name === "overrides");
    expect(check?.status).toBe("warning");
    expect(check?.findings.map(({ message }) => message)).toEqual([
      `the override of api for (all subjects) is ignored: ${renamed}`,
      `the override of api for user=ann is only in force in 1 process; ignored by 1 process: ${absent}`,
      `the override of gone for (all subjects) is ignored: ${gone}`,
    ]);
  });

  test("says that it is unknown which processes apply an override if no process is listed", async () => {
    const admin = createAdmin(redisStore(own.client));
    await admin.setOverride({ limiter: "api", shadow: true });
    expect((await headgate("limiters")).stdout).toContain("unknown: no process is listed");
  });

  test("omits overrides that have ended by the server's clock", async () => {
    let now = 1_800_000_000_000;
    const admin = createAdmin(redisStore(own.client, { clock: () => now }));
    const from = now + 2_000;
    await admin.setOverride({ limiter: "api", shadow: true }, { for: "1h" });
    await admin.setOverride({ limiter: "b", shadow: true }, { for: "forever" });
    now = from + 3_599_999;
    const forever = { limiter: "b", shadow: true, from, until: null };
    expect(await readOverrides(admin)).toEqual([
      { limiter: "api", shadow: true, from, until: from + 3_600_000 },
      forever,
    ]);
    now = from + 3_600_000;
    expect(await readOverrides(admin)).toEqual([forever]);
  });

  test("prints one JSON document with --json", async () => {
    await list(limiter("api", [api, gcra({ limit: 9, window: "1s", per: "user" })]));
    const before = Date.now();
    await createAdmin(redisStore(own.client)).setOverride({ limiter: "api", shadow: true });
    const after = Date.now();
    const { stdout } = await headgate("limiters --json");
    const { overrides, ...document } = expectDocument("limiters", stdout) as {
      overrides: { until: number; from: number }[];
    };
    expect(document).toMatchObject({
      limiters: [{ name: "api", limits: [{ limit: 100 }, { limit: 9 }], hasOtherVersions: false }],
      processes: [{ pid: process.pid }],
      unreadable: [],
    });
    expect(overrides[0]?.until).toBe((overrides[0]?.from ?? 0) + 86_400_000);
    // Processes apply it two seconds after it was set.
    expect(overrides[0]?.from).toBeGreaterThanOrEqual(before + 2_000);
    expect(overrides[0]?.from).toBeLessThanOrEqual(after + 2_001);
  });

  test("lists the processes with --processes", async () => {
    await list(limiter("api", api));
    const { stdout } = await headgate("limiters --processes");
    const [, processes = ""] = stdout.split("\n\n");
    expect(processes).toMatch(/^HOST +PID +VERSION +STARTED +SEEN +NOT LISTED +LIMITERS\n/);
    expect(processes.split("\n")[1]).toContain(` ${process.pid} `);
  });

  test("shows with --processes which version each process has, and why there are several", async () => {
    await list(limiter("api", api));
    await list(limiter("api", gcra({ limit: 200, window: "1m" })));
    const { stdout } = await headgate("limiters --processes");
    const [limiters = "", processes = "", why] = stdout.split("\n\n");
    const versions = limiters.match(/version [AB] of 2/g);
    expect(versions?.sort()).toEqual(["version A of 2", "version B of 2"]);
    // Both are in this process.
    expect(processes).toContain("api (version A), api (version B)");
    expect(why).toBe(`api has 2 versions
  The versions differ in their limits.
  They share their counters: each process applies its own version to the same counts.
  A process has several of them: it creates the limiter more than once, with different options.
`);
    expect((await headgate("limiters")).stdout).not.toContain("has 2 versions");
  });

  test("lists no limiters of another prefix", async () => {
    await list(limiter("api", api));
    const { exitCode, stdout, stderr } = await headgate("limiters --prefix shop");
    expect([exitCode, stdout]).toEqual([0, ""]);
    expect(stderr).toMatch(/^headgate: no limiter is listed with the prefix shop: .+\n$/);
  });

  test("says which records and overrides cannot be read, with the reason", async () => {
    await list(limiter("api", api));
    const records = (await own.scan()).map(String).filter((key) => key.includes("record/"));
    await own.client.set(records[0] as string, '{"format":9}');
    await own.client.set("hg:{control}", "nonsense");
    const { exitCode, stderr } = await headgate("limiters");
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/warning: cannot read the overrides: the control record .* is damaged/);
    expect(stderr).toMatch(
      /warning: cannot read hg:\{registry\}:record.*another version of Headgate/,
    );
    const { stdout } = await headgate("limiters --json");
    expect(expectDocument("limiters", stdout)).toMatchObject({
      overrides: null,
      unreadable: [{ reason: "other-format" }],
    });
  });

  test("wraps limits to the width of the terminal, and uses colours there", async () => {
    await list(
      limiter("a-limiter-with-quite-a-long-name", [api, fixedWindow({ limit: 5, window: "1h" })]),
    );
    await list(limiter("a-limiter-with-quite-a-long-name", api));
    const narrow = await headgate("limiters", { terminal: 80 });
    const yellow = "\u001b[33m";
    expect(narrow.stdout).toContain(yellow);
    expect(narrow.stdout).toContain("a-limiter-with-quite-a-long-name   ");
    const lines = stripVTControlCharacters(narrow.stdout).split("\n");
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length).toBeGreaterThan(5);
    const plain = await headgate("limiters", { terminal: 80, environment: { NO_COLOR: "1" } });
    expect(plain.stdout).not.toContain("\u001b");
  });
});

describe("headgate breakers", () => {
  test("lists breakers with their policies", async () => {
    await list((store) => [
      createBreaker({ name: "payments", store }),
      createBreaker({
        ...{ name: "search", store, window: { calls: 10 }, minimumSuccessRate: 0.925 },
        ...{ slowCall: "2s", slowCallRate: 0.8, openFor: (opened) => (opened > 1 ? "1m" : "5s") },
      }),
    ]);
    const { exitCode, stdout, stderr } = await headgate("breakers --processes");
    expect([exitCode, stderr]).toEqual([0, ""]);
    const [breakers = "", processes = ""] = stdout.split("\n\n");
    expect(breakers.split("\n").map((line) => line.split(/ {3,}/)[1])).toEqual([
      "POLICY",
      "opens below 50 % success of at least 20 calls in 5m, for 30s; 5 trial calls",
      "opens below 92.5 % success of at least 10 calls among the last 10, or if 80 % are slower than 2s, for 5s, then 1m; 5 trial calls",
    ]);
    expect(processes).toMatch(/^HOST/);
    const document = expectDocument("breakers", (await headgate("breakers --json")).stdout);
    expect(document).toMatchObject({ breakers: [{ name: "payments" }, { name: "search" }] });
  });
});

/** What is looked at of its document. */
interface Log {
  readonly entries: readonly { readonly at: number; readonly before?: { readonly from: number } }[];
}

describe("headgate breakers --target", () => {
  const openFor = (opened: number): Duration => (opened > 1 ? "1h" : "30m");

  /** A breaker of somebody's, whose target "bank" is open. */
  async function openBank(): Promise<void> {
    await list((store) => {
      const breaker = createBreaker({
        name: "payments",
        store,
        minimumCalls: 2,
        openFor,
        flushInterval: 0,
      });
      return [breaker];
    });
    const store = redisStore(own.client, { registry: false });
    const breaker = createBreaker({
      name: "payments",
      store,
      minimumCalls: 2,
      openFor,
      flushInterval: 0,
    });
    const bank = breaker.for("bank");
    for (const outcome of ["success", "failure", "failure"] as const) await bank.record(outcome, 1);
    await breaker.for("by-hand").forceOpen();
    await breaker.close();
  }

  test("shows the states of the targets, and changes nothing", async () => {
    await openBank();
    const keys = (await own.scan()).map(String).filter((key) => key.includes("breaker/"));
    const dump = () => Promise.all(keys.map((key) => own.client.dumpBuffer(key)));
    const before = await dump();
    const { exitCode, stdout, stderr } = await headgate("breakers --target bank other by-hand");
    expect([exitCode, stderr]).toEqual([0, ""]);
    const [, states = ""] = stdout.split("\n\n");
    expect(
      states
        .trimEnd()
        .split("\n")
        .map((line) => line.split(/ {3,}/)),
    ).toEqual([
      ["BREAKER", "TARGET", "STATE", "CALLS", "SUCCESS", "FAILED", "SLOW", "TRIAL CALLS"],
      ["payments", "bank", "open", "3", "33.3 %", "2", "0", "in 30 min"],
      ["payments", "other", "closed", "0", "0", "0"],
      ["payments", "by-hand", "forced-open", "0", "0", "0"],
    ]);
    expect(await dump()).toEqual(before);
    expect((await own.scan()).filter((key) => key.includes("breaker/"))).toHaveLength(keys.length);
  });

  test("adds the states of the targets to the JSON document", async () => {
    await openBank();
    const { stdout } = await headgate("breakers --json --target bank by-hand");
    expect(expectDocument("breakers", stdout)).toMatchObject({
      states: [
        { target: "bank", state: "open", successes: 1, openings: 1 },
        { target: "by-hand", state: "forced-open", retryAfterMs: 0 },
      ],
    });
  });

  test("fails if the key of a target has a value that is not Headgate's", async () => {
    await openBank();
    await own.client.del("hg:{bank}:breaker/payments");
    await own.client.lpush("hg:{bank}:breaker/payments", "x");
    const { exitCode, stderr } = await headgate("breakers --target bank");
    expect([exitCode, stderr]).toEqual([3, expect.stringMatching(/^headgate: .+\n$/)]);
  });
});

describe("headgate log", () => {
  test("lists the actions of operators with their reasons, the latest first", async () => {
    const admin = createAdmin(redisStore(own.client));
    const orders = { name: "orders", limits: api };
    await admin.block(orders, "203.0.113.7", "1h", { by: "ann", reason: "flood" });
    await admin.unblock(orders, "203.0.113.7", { by: "ann" });
    await admin.reset(orders, "203.0.113.7", { by: "bob" });
    await admin.setOverride(
      { limiter: "api", limits: { x: { limit: 5 } } },
      { by: "bob", for: "forever" },
    );
    await admin.unsetOverride({ limiter: "api" }, { by: "bob", reason: "over" });
    const { exitCode, stdout, stderr } = await headgate("log");
    expect([exitCode, stderr]).toEqual([0, ""]);
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {3,}/).slice(1));
    expect(rows).toEqual([
      ["WHO", "DID", "LIMITER", "SUBJECT", "CHANGE", "REASON"],
      ["bob", "unset", "api", "(all subjects)", "was x: limit 5", "over"],
      ["bob", "set", "api", "(all subjects)", "x: limit 5"],
      ["bob", "reset", "orders", "203.0.113.7", "100-per-1m had 100 of 100 left"],
      ["ann", "unblock", "orders", "203.0.113.7", "blocked, now not blocked"],
      ["ann", "block", "orders", "203.0.113.7", "not blocked, now blocked", "flood"],
    ]);
    const [unset, set] = (expectDocument("log", (await headgate("log --json")).stdout) as Log)
      .entries;
    expect(unset?.before).toMatchObject({ until: null, from: expect.any(Number) });
    // Processes apply an override two seconds after it was set; both times are rounded.
    expect([2_000, 2_001]).toContain((unset?.before?.from ?? 0) - (set?.at ?? 0));
    const one = await headgate("log --limiter orders --limit 1 --json");
    expect(expectDocument("log", one.stdout)).toMatchObject({
      entries: [{ kind: "reset", by: "bob", after: { blocked: false } }],
      unreadable: 0,
    });
  });

  test("shows the state that a breaker was set to, and no subject that was forgotten since", async () => {
    const admin = createAdmin(redisStore(own.client));
    const [before, after] = [{ state: "closed" }, { state: "forced-open" }];
    await admin.logBreakerAction({ breaker: "payments", target: "bank", before, after });
    const orders = { name: "orders", limits: api };
    await admin.block(orders, "203.0.113.7", "1h");
    await admin.forget(orders, "203.0.113.7");
    const { stdout } = await headgate("log");
    expect(stdout).toMatch(/breaker +payments +target=bank +closed, now forced-open\n/);
    expect(stdout).toMatch(/ block +orders +~forgotten~\S+\n/);
  });

  test("escapes control characters in every entry, and counts the entries that cannot be read", async () => {
    const admin = createAdmin(redisStore(own.client));
    const subject = "\u001b[2J\u009bK\u202egpj.exe\n7";
    await admin.reset({ name: "orders", limits: api }, subject, { by: "a\tb" });
    await own.client.lpush("hg:{control}:actions", "nonsense");
    const at = String(Date.now() * 1_000);
    const odd = {
      kind: "reset",
      limiter: "odd",
      by: {},
      before: { limits: [null, 1] },
    };
    for (const entry of [odd, { ...odd, subject: 7 }]) {
      await own.client.lpush("hg:{control}:actions", `${at}${JSON.stringify(entry)}`);
    }
    const { stdout, stderr } = await headgate("log");
    expect(stdout).toContain("   \\x1b[2J\\x9bK\\u{202e}gpj.exe\\n7   ");
    expect(stdout).toContain("a\\tb");
    expect(stdout).toContain("   odd   ");
    expect(stdout).toMatch(/^[ -~\n]*$/);
    expect(stderr).toMatch(/^headgate: warning: 2 log entries cannot be read: .+\n$/);
    const json = (await headgate("log --json --limiter orders")).stdout;
    expect(json).toMatch(/^[ -~\n]*$/);
    expect(expectDocument("log", json)).toMatchObject({
      entries: [{ subject: { default: subject } }],
    });
  });

  test.each([
    ["numbers that cannot be written", { after: { limits: { a: { limit: { toString: 1 } } } } }],
    ["no numbers", { after: { limits: { a: 1, b: null }, shadow: "x" } }],
    ["an end that is no time", { after: { shadow: true, until: 1e300 } }],
    [
      "usage that cannot be written",
      { kind: "reset", before: { limits: [{ name: { toString: 1 } }] } },
    ],
    [
      "an end of a network that is no time",
      { kind: "addToDenyList", network: "192.0.2.0/24", after: { until: 1e300 } },
    ],
  ])("shows all entries even if one has %s", async (_, odd) => {
    const line = JSON.stringify({ kind: "setOverride", limiter: "odd", ...odd });
    await createAdmin(redisStore(own.client)).setOverride({ limiter: "orders", shadow: true });
    await own.client.lpush("hg:{control}:actions", `${Date.now()}000${line}`);
    const { exitCode, stdout } = await headgate("log");
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/ odd .*\n.* orders .*in shadow mode/);
  });

  test("says that the log is empty, and rejects an invalid --limit", async () => {
    expect(await headgate("log")).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "headgate: the log is empty\n",
    });
    for (const limit of ["0", "1001", "x", "1.5"]) {
      const { exitCode, stderr } = await headgate(`log --limit ${limit}`);
      expect([exitCode, stderr]).toEqual([
        2,
        "headgate: --limit must be a whole number from 1 to 1000\n",
      ]);
    }
  });
});
