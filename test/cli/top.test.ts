import { setTimeout as delay } from "node:timers/promises";
import type { Limiter } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { createAdmin, hashSubject } from "@headgate/core/admin";
import { requireStore } from "@headgate/core/internal";
import type { RedisStoreOptions } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { addUsage } from "../../packages/core/src/usage/operations.ts";
import { sendUsage } from "../support/send-usage.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { useHeadgate } from "./actions/use-headgate.ts";
import { expectDocument } from "./json-schema.ts";
import type { RunOptions } from "./run-cli.ts";
import { runCli } from "./run-cli.ts";

const own = useHeadgate();

/** Runs `headgate top` on the server of the suite. */
function top(args: readonly string[], options: RunOptions = {}) {
  const environment = { REDIS_URL: `redis://127.0.0.1:${own.server.port}`, ...options.environment };
  return runCli(["top", ...args], { ...options, environment });
}

/** The requests of each subject under a limit of 3. */
const REQUESTS = { ann: 9, bob: 4, eve: 1 };

/** A limiter that has decided, and has sent what it counted. */
async function decide(options: RedisStoreOptions): Promise<Limiter> {
  const store = redisStore(own.client, options);
  const limits = fixedWindow({ limit: 3, window: "1d" });
  const limiter = createLimiter({
    name: "api",
    store,
    limits,
    storeTimeout: "20s",
    denyCache: false,
  });
  onTestFinished(() => limiter.close());
  for (const [subject, times] of Object.entries(REQUESTS)) {
    for (let i = 0; i < times; i += 1) await limiter.consume(subject);
  }
  if (options.registry !== false) await writeRegistry(store);
  else await limiter.close();
  return limiter;
}

const PLAIN = { usage: { subjects: "plain" }, registry: false } as const;

describe("headgate top on recorded usage", () => {
  test("lists the subjects with the most requests, and the most denied ones", async () => {
    await decide(PLAIN);
    expect(await top(["api"])).toEqual({
      exitCode: 0,
      stdout: `api: 7 allowed, 7 denied, 0 of these decided without Redis

SUBJECT   REQUESTS   MAX ERROR    SHARE
ann              9               64.3 %
bob              4               28.6 %
eve              1                7.1 %
`,
      stderr: "",
    });
    const { stdout } = await top(["api", "--by", "denied", "--span", "10m"]);
    expect(stdout).toContain("ann            6               85.7 %\nbob            1");
    expect(stdout).not.toContain("eve");
  });

  test("counts a denial for the subjects whose limits denied, and for no other", async () => {
    const store = redisStore(own.client, PLAIN);
    const limits = [
      fixedWindow({ limit: 2, window: "1d", per: "user" }),
      fixedWindow({ limit: 5, window: "1d", per: "ip" }),
      fixedWindow({ limit: 6, window: "1d", per: "global" }),
    ];
    const options = { storeTimeout: "20s", denyCache: false } as const;
    const limiter = createLimiter({ ...options, name: "api", store, limits });
    onTestFinished(() => limiter.close());
    // Two pass, and three are denied by the limit of the user; then one of another user passes.
    for (let i = 0; i < 5; i += 1) await limiter.consume({ user: "ann", ip: "10.0.0.1" });
    for (const ip of ["10.0.0.1", "10.0.0.2"]) await limiter.consume({ user: "bob", ip });
    for (const user of ["cat", "dan"]) await limiter.consume({ user, ip: "10.0.0.3" });
    // All subjects together have six allowed requests.
    await limiter.consume({ user: "eve", ip: "10.0.0.4" });
    await limiter.close();
    const { stdout } = await top(["api", "--by", "denied", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ total: { allowed: 6, denied: 4 }, decisions: 4 });
    expect(JSON.parse(stdout).subjects).toEqual([
      { dimension: "user", subject: "ann", count: 3, error: 0 },
      { dimension: "global", subject: "*", count: 1, error: 0 },
    ]);
  });

  test("prints one JSON document", async () => {
    await decide(PLAIN);
    const { stdout, stderr } = await top(["api", "--json", "--by", "denied", "--subject", "ann"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      limiter: "api",
      source: "usage",
      by: "denied",
      at: expect.any(Number),
      from: expect.any(Number),
      shadow: false,
      total: { allowed: 7, denied: 7, degraded: 0 },
      wouldBeDenied: 0,
      decisions: 7,
      unlisted: 0,
      counted: 7,
      subjects: [{ dimension: "default", subject: "ann", count: 6, error: 0 }],
    });
  });

  test("gives shares of the last day over 30 days, because subjects are stored for a day", async () => {
    await decide(PLAIN);
    const clock = Date.now() * 1_000;
    const at = clock - 2 * 86_400_000_000;
    await requireStore(redisStore(own.client)).run(addUsage, {
      ...{
        prefix: "hg",
        process: "process-00000000",
        number: 1,
        clock,
        clockOffset: 0,
        blocks: [],
      },
      limiters: [{ name: "api", rows: [{ at, allowed: 986, denied: 0, degraded: 0 }] }],
    });
    const { stdout } = await top(["api", "--span", "30d"]);
    expect(stdout).toMatch(/^api: 993 allowed, 7 denied,/);
    expect(stdout).toMatch(
      /\nann +9 +64\.3 %\n[\s\S]*\nCounts and shares are of 14 requests since 20.* UTC\.\n$/,
    );
  });

  test("finds a subject that is stored as a hash", async () => {
    await decide({ usage: true, registry: false });
    const all = await top(["api"]);
    expect(all.stdout).toContain(`#${hashSubject("ann")}`);
    expect(all.stdout).not.toContain("ann");
    expect(all.stderr).toContain("--subject SUBJECT looks one up");
    expect(all.stderr).not.toContain("Subjects are kept");
    const one = await top(["api", "--subject", "bob"]);
    expect(one.stdout).toContain(`#${hashSubject("bob")}          4`);
    expect(one.stdout).not.toContain(hashSubject("ann"));
    expect((await top(["api", "--subject", "nobody"])).stdout).toContain("No subjects are listed.");
  });

  test("escapes control characters in subjects", async () => {
    const store = redisStore(own.client, PLAIN);
    const limits = fixedWindow({ limit: 3, window: "1d" });
    const limiter = createLimiter({ name: "api", store, limits, storeTimeout: "20s" });
    await limiter.consume("\x1b[2Jgone");
    await limiter.close();
    const { stdout } = await top(["api"], { terminal: 80 });
    expect(stdout).toContain("\\x1b[2Jgone");
    expect(stdout).not.toContain("\x1b[2J");
  });

  test("updates on a terminal with --follow until it is interrupted", async () => {
    await decide(PLAIN);
    const interruption = new AbortController();
    const running = top(["api", "--follow"], { terminal: 80, signal: interruption.signal });
    await delay(500);
    interruption.abort();
    const { exitCode, stdout } = await running;
    expect(exitCode).toBe(0);
    expect(stdout.startsWith("\x1b[2J\x1b[H")).toBe(true);
    expect(stdout).toContain("ann");
  });
});

describe("headgate top without recorded usage", () => {
  test("reads the counters, and says so", async () => {
    const limiter = await decide({});
    await limiter.block("eve", "1h");
    const { exitCode, stdout, stderr } = await top(["api"]);
    expect(exitCode).toBe(0);
    expect(stdout).toBe(`api, by its counters

SUBJECT   USED   OF     SHARE   LIMIT
ann          3    3   100.0 %   3-per-1d
bob          3    3   100.0 %   3-per-1d
eve          1    3    33.3 %   3-per-1d   blocked
`);
    expect(stderr).toMatch(
      /^No usage is recorded for this limiter, so the list comes from its counters. Scanned all \d+ keys.\n$/,
    );
  });

  test("scans at most --keys keys", async () => {
    await decide({});
    for (let i = 0; i < 5_000; i += 1) void own.client.set(`other:${i}`, "");
    await own.client.dbsize();
    const { stdout } = await top(["api", "--json", "--keys", "2000"]);
    const { scannedKeys, isComplete, subjects } = JSON.parse(stdout);
    expect(scannedKeys).toBe(2_000);
    expect(isComplete).toBe(false);
    expect(subjects.length).toBeLessThanOrEqual(3);
    const all = JSON.parse((await top(["api", "--json"])).stdout);
    expect(all).toMatchObject({
      source: "counters",
      by: "used",
      isComplete: true,
      hashedSubjects: 0,
    });
    expect(all.subjects).toHaveLength(3);
    expect(all.subjects[2]).toEqual({
      dimension: "default",
      subject: "eve",
      name: "3-per-1d",
      limit: 3,
      used: 1,
      blocked: false,
    });
  });

  test("shows its progress on a terminal", async () => {
    await decide({});
    const { stderr } = await top(["api"], { terminal: 80 });
    expect(stderr).toContain("scanning keys");
    expect((await top(["api"])).stderr).not.toContain("scanning keys");
  });

  test("omits subjects that are known only by their hash, and says how many", async () => {
    const limiter = await decide({});
    await limiter.consume("x".repeat(100));
    const { stderr, stdout } = await top(["api"]);
    expect(stderr).toContain("1 long subjects are known only by their hash");
    expect(stdout).not.toContain("xxx");
  });
});

describe("headgate top reports an error in one line", () => {
  test.each([
    [["api", "--by", "denied"], "counters do not record denials"],
    [["api", "--subject", "ann"], "leave out --subject"],
    [["api", "--follow"], "--follow needs a terminal"],
    [["api", "--follow", "--json"], "cannot be used with --json"],
    [["api", "--keys", "0"], "--keys must be"],
    [["api", "--span", "1 week"], "headgate: --span must be a time from 10s to 30d"],
    [["api", "--span", "31d"], "--span must be a time from 10s to 30d"],
    [["api", "--by", "most"], "Allowed choices are used, denied"],
    [["nobody"], "no process lists it"],
  ])("for the arguments %j", async (args, words) => {
    await decide({});
    const { exitCode, stdout, stderr } = await top(args);
    expect(exitCode).toBe(2);
    expect(stdout).toBe("");
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toContain(words);
  });

  test("for a usage key with a value that is not Headgate's", async () => {
    const key = `hg:{usage}:minutes/api/${Math.floor(Date.now() / 3_600_000) * 3_600}`;
    await own.client.sadd(key, "x");
    const { exitCode, stderr } = await top(["api"]);
    expect(exitCode).toBe(3);
    expect(stderr).toContain(`${key} cannot be read (wrong-type)`);
  });
});

describe("headgate top of all limiters", () => {
  test("lists the limiters with the most denials, and their most denied subjects", async () => {
    await decide(PLAIN);
    const store = redisStore(own.client, PLAIN);
    const limits = fixedWindow({ name: "few", limit: 1, window: "1d" });
    const quiet = createLimiter({ name: "quiet", store, limits, storeTimeout: "20s" });
    for (const subject of ["zoe", "zoe", "yan"]) await quiet.consume(subject);
    await quiet.close();
    expect(await top([])).toEqual({
      exitCode: 0,
      stdout: `LIMITER   ALLOWED   DENIED   MOST DENIED
api             7        7   ann (6), bob (1)
quiet           2        1   zoe (1)
`,
      stderr: "",
    });
    const { stdout } = await top(["--by", "used", "--span", "30d", "--json"]);
    expectDocument("top", stdout);
    const found = JSON.parse(stdout);
    expect(found.limiters).toMatchObject([
      { limiter: "api", subjects: [{ subject: "ann", count: 9 }, {}, {}] },
      {
        limiter: "quiet",
        total: { allowed: 2, denied: 1, degraded: 0 },
        byLimit: [{ per: "default", limit: "few", denied: 1 }],
        byBlock: 0,
        subjects: [{ subject: "zoe", count: 2 }, { subject: "yan" }],
      },
    ]);
  });

  test("shows apart from denials what limiters in shadow mode would deny, by their policy or by an operator", async () => {
    const usage = { subjects: "plain" } as const;
    await decide({ usage });
    const store = redisStore(own.client, { usage });
    const limits = fixedWindow({ name: "few", limit: 1, window: "1d" });
    const trial = createLimiter({
      name: "trial",
      store,
      limits,
      shadow: true,
      storeTimeout: "20s",
    });
    onTestFinished(() => trial.close());
    for (let i = 0; i < 9; i += 1) await trial.consume("zoe");
    await writeRegistry(store);
    await sendUsage(store);
    const all = await top([]);
    expect(all.stderr).toContain("before it was put in shadow mode");
    expect(all.stdout).toBe(`LIMITER   ALLOWED   DENIED   WOULD BE DENIED   MOST DENIED
api             7        7                     ann (6), bob (1)
trial           9        0                 8
`);
    const { stdout } = await top(["--json"]);
    expectDocument("top", stdout);
    expect(JSON.parse(stdout).limiters).toMatchObject([
      { limiter: "api", shadow: false, total: { allowed: 7, denied: 7 }, wouldBeDenied: 0 },
      { limiter: "trial", shadow: true, total: { allowed: 9, denied: 0 }, wouldBeDenied: 8 },
    ]);
    expect((await top(["trial", "--by", "denied"])).stdout).toMatch(
      /^trial: in shadow mode, 9 allowed, 8 of these would be denied, [\s\S]*WOULD BE DENIED[\s\S]*zoe +8 /,
    );
    // An operator's override decides, as for requests.
    const admin = createAdmin(store);
    await admin.setOverride({ limiter: "trial", shadow: false });
    await admin.setOverride({ limiter: "api", shadow: true });
    const { limiters } = JSON.parse((await top(["--json"])).stdout);
    expect(limiters).toMatchObject([
      { limiter: "trial", shadow: false, total: { denied: 8 }, wouldBeDenied: 0 },
      { limiter: "api", shadow: true, total: { allowed: 14, denied: 0 }, wouldBeDenied: 7 },
    ]);
  });

  test("says that no limiter has usage, and rejects --subject", async () => {
    const { stdout, stderr } = await top([]);
    expect(stdout).toBe("No limiter has made a decision.\n");
    expect(stderr).toContain("usage: true");
    const { exitCode, stderr: refused } = await top(["--subject", "ann"]);
    expect(exitCode).toBe(2);
    expect(refused).toContain("--subject needs a limiter");
  });
});
