import { createBreaker } from "@headgate/breaker";
import { concurrency, createLimiter, fixedWindow, gcra } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { writeRegistry } from "../../support/write-registry.ts";
import { runCli } from "../run-cli.ts";
import { useHeadgate } from "./use-headgate.ts";

const own = useHeadgate();

/** Lists limiters that each have one subject, annwith some requests. */
async function list(names: readonly string[], requests = 2) {
  const store = own.store();
  const limits = fixedWindow({ limit: 3, window: "1h", block: "10m" });
  for (const name of names) {
    const limiter = createLimiter({ name, limits, store, denyCache: false, storeTimeout: "10s" });
    onTestFinished(() => limiter.close());
    for (let i = 0; i < requests; i += 1) await limiter.consume("ann");
  }
  await writeRegistry(store);
  return { operator: createAdmin(store), store, api: { name: "api", limits } };
}

describe("headgate explain", () => {
  test("message that a request would be allowed, and how much would be left", async () => {
    await list(["api"]);
    const { exitCode, stdout } = await own.run(["explain", "ann", "--limiter", "api"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("api: ann would be allowed now\n");
    expect(stdout).toContain("3-per-1h decides: 0 of 3 left afterwards");
    expect(stdout).toContain("denied it within the last second");
  });

  test("message that a request would be denied, by which limit and until when, and exits with 1", async () => {
    await list(["api"]);
    const denied = await own.run(["explain", "ann", "--limiter", "api", "--cost", "2"]);
    expect(denied.exitCode).toBe(1);
    expect(denied.stdout).toMatch(
      /3-per-1h decides: the request costs 2\n {2}it will be allowed at .*, in /,
    );
    const never = await own.run(["explain", "ann", "--limiter", "api", "--cost", "4"]);
    expect(never.stdout).toContain("costs 4, which is more than the limit ever allows at once");
    const json = await own.json(["explain", "ann", "--limiter", "api", "--cost", '{"3-per-1h":2}']);
    expect(json).toMatchObject({
      explanations: [{ binding: "3-per-1h", decision: { allowed: false } }],
    });
  });

  test("distinguishes an operator's block from the block of a limit", async () => {
    const { operator: admin, api } = await list(["api"], 4);
    const byLimit = await own.run(["explain", "ann", "--limiter", "api"]);
    expect(byLimit.stdout).toMatch(/blocked by the limit 3-per-1h until .*, in (10 min|9 min)/);
    await admin.block(api, "ann", "2h");
    const byHand = await own.run(["explain", "ann", "--limiter", "api"]);
    expect([byHand.exitCode, byHand.stdout]).toEqual([1, expect.stringContaining("blocked until")]);
  });

  test("applies overrides and shadow mode", async () => {
    const { operator: admin } = await list(["api"]);
    await admin.setOverride({ limiter: "api", limits: { "3-per-1h": { limit: 2 } } });
    const lowered = await own.run(["explain", "ann", "--limiter", "api"]);
    expect(lowered.exitCode).toBe(1);
    expect(lowered.stdout).toContain("override: 3-per-1h: limit 2; for (all subjects), until ");
    const subject = { default: "ann" };
    await admin.setOverride({ limiter: "api", subject, shadow: true }, { for: "forever" });
    const { exitCode, stdout } = await own.run(["explain", "ann", "--limiter", "api"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("in shadow mode: otherwise it would be denied");
    expect(stdout).toContain("for ann, until it is removed");
  });

  test("checks the limits of the given dimensions, and names the missing dimensions", async () => {
    const store = own.store();
    const limits = [
      fixedWindow({ limit: 9, window: "month", per: "ip", name: "of an address" }),
      fixedWindow({ limit: 3, window: "1h", per: "customer" }),
    ];
    const limiter = createLimiter({ name: "orders", limits, store, storeTimeout: "10s" });
    onTestFinished(() => limiter.close());
    for (let i = 0; i < 3; i += 1) await limiter.consume({ customer: "X", ip: "10.0.0.1" });
    await writeRegistry(store);
    const args = ["explain", "--subject", "customer=X", "--limiter", "orders"];
    const { exitCode, stdout, stderr } = await own.run(args);
    expect([exitCode, stderr]).toEqual([1, ""]);
    expect(stdout).toMatch(
      /^orders: customer=X would be denied now\n {2}not checked: the limits per ip, because no subject is given\n/,
    );
    expect(stdout).not.toContain("of an address");
    expect(await own.json(args)).toMatchObject({
      explanations: [
        { subject: { customer: "X" }, missingDimensions: ["ip"], calendarEnds: [null] },
      ],
      skipped: [],
    });
    const whole = await own.json([...args, "--subject", "ip=10.0.0.2"]);
    expect(whole).toMatchObject({ explanations: [{ missingDimensions: [] }] });
  });

  test("explains all limiters without --limiter: denials first, the longest at the top, and the deny list at the end", async () => {
    const store = own.store();
    const limits = fixedWindow({ limit: 1, window: "1h" });
    const short = fixedWindow({ limit: 1, window: "10m" });
    const options = { store, storeTimeout: "10s" } as const;
    const open = createLimiter({ ...options, name: "open", limits });
    const denying = [
      createLimiter({ ...options, name: "short", limits: short }),
      createLimiter({ ...options, name: "long", limits }),
    ];
    const others = [
      createLimiter({ ...options, name: "more", limits: short, extends: open }),
      createLimiter({
        ...options,
        name: "tenants",
        limits: [
          { ...limits, per: "tenant" },
          { ...limits, per: "user" },
        ],
      }),
    ];
    for (const one of [...denying, open, ...others]) onTestFinished(() => one.close());
    for (const one of denying) await one.consume("10.0.0.1");
    await writeRegistry(store);
    // Another version of a policy is not another limiter.
    const elsewhere = own.client.duplicate();
    onTestFinished(() => elsewhere.disconnect());
    const other = redisStore(elsewhere);
    const changed = ["tenant", "user"].map((per) => ({ ...short, per }));
    const version = createLimiter({ ...options, name: "tenants", limits: changed, store: other });
    onTestFinished(() => version.close());
    await writeRegistry(other);
    const args = ["explain", "10.0.0.1"];
    const { exitCode, stdout } = await own.run(args);
    expect(exitCode).toBe(1);
    expect(stdout.split("\n").filter((line) => !line.startsWith(" "))).toEqual([
      "10.0.0.1 is denied now by long, short",
      "long: 10.0.0.1 would be denied now",
      "short: 10.0.0.1 would be denied now",
      "more: 10.0.0.1 would be allowed now",
      "open: 10.0.0.1 would be allowed now",
      "1 limiter skipped, as it needs another subject",
      "deny list: 10.0.0.1 is not on it",
      "",
    ]);
    expect(stdout.match(/^ {2}tenants counts by tenant, user: /gm)).toHaveLength(1);
    const allowed = await own.run(["explain", "ann"]);
    expect([allowed.exitCode, allowed.stdout.split("\n")[0]]).toEqual([
      0,
      "ann is allowed now by all 4 limiters that may count it",
    ]);
    await createAdmin(store).addToDenyList("10.0.0.0/8");
    const onList = await own.run(["explain", "10.0.0.1"]);
    expect(onList.stdout.split("\n")[0]).toBe(
      "10.0.0.1 is denied by every HTTP limiter: it is on the deny list",
    );
    expect(onList.stdout).not.toContain("is not on it");
  });

  test("counts a limiter with two versions once, and explains both", async () => {
    await list(["api"]);
    const elsewhere = own.client.duplicate();
    onTestFinished(() => elsewhere.disconnect());
    const store = redisStore(elsewhere);
    const limits = fixedWindow({ limit: 1, window: "1h" });
    const lower = createLimiter({ name: "api", limits, store });
    onTestFinished(() => lower.close());
    await writeRegistry(store);
    const { stdout } = await own.run(["explain", "bob"]);
    expect(stdout).toMatch(/^bob is allowed now by the limiter that may count it\n/);
    expect(stdout.match(/^api: bob would be allowed now$/gm)).toHaveLength(2);
    expect(stdout).toContain("one of several versions of this policy");
  });

  test("explains a limiter that counts all clients together, which may deny any of them", async () => {
    await list(["api"]);
    const store = own.store();
    const limits = fixedWindow({ limit: 1, window: "1h", per: "global" });
    const quota = createLimiter({ name: "quota", limits, store, storeTimeout: "10s" });
    onTestFinished(() => quota.close());
    await quota.consume({ global: "*" });
    await writeRegistry(store);
    const { exitCode, stdout } = await own.run(["explain", "ann"]);
    expect(exitCode).toBe(1);
    expect(stdout.split("\n").filter((line) => !line.startsWith(" "))).toEqual([
      "ann is denied now by quota",
      "quota: global=* would be denied now",
      "api: ann would be allowed now",
      "",
    ]);
    // What acts on ann must not act on all clients.
    const { limiters } = (await own.json(["inspect", "ann"])) as {
      limiters: { limiter: string }[];
    };
    expect(limiters.map(({ limiter }) => limiter)).toEqual(["api"]);
  });

  test("explains slots and calendar windows", async () => {
    const store = own.store();
    const limits = [
      fixedWindow({ limit: 9, window: "month", timeZone: "Europe/Berlin" }),
      concurrency({ limit: 1, ttl: "1m" }),
    ];
    const limiter = createLimiter({ name: "export", limits, store, storeTimeout: "10s" });
    onTestFinished(() => limiter.close());
    await limiter.consume("ann");
    const json = JSON.stringify(limits);
    const args = ["explain", "ann", "--limiter", "export", "--limits", json];
    const { exitCode, stdout } = await own.run(args);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("1 of 1 slots in use");
    expect(stdout).toMatch(/9-per-month: 1 of 9 used; .* at \d{4}-\d\d-\d\d \d\d:00:00 /);
    expect(stdout).toContain("all slots are in use; retry in ");
    expect(stdout).toMatch(
      /the month ends at \d{4}-\d\d-01 00:00:00 .* in Europe\/Berlin, which is \d{4}-\d\d-\d\d \d\d:00:00 UTC/,
    );
  });
});

test.each(["explain", "inspect"])(
  "headgate %s shows the second in which a limit recovers also after slow replies",
  async (command) => {
    const store = own.store();
    const limits = fixedWindow({ limit: 9, window: "month" });
    const limiter = createLimiter({ name: "slow", limits, store, storeTimeout: "10s" });
    onTestFinished(() => limiter.close());
    await limiter.consume("ann");
    await writeRegistry(store);
    const proxy = await startTcpProxy(own.server);
    onTestFinished(() => proxy.close());
    proxy.delayReplies(300);
    const url = `redis://127.0.0.1:${proxy.port}`;
    const args = [command, "ann", "--limiter", "slow", "--redis", url];
    const { stdout } = await runCli(args);
    expect(stdout).toMatch(
      /9-per-month: 1 of 9 used; fully recovers at \d{4}-\d\d-\d\d \d\d:00:00 /,
    );
  },
);

describe("an action of the command", () => {
  test("prints the states before and after, and when the change is in force", async () => {
    const { operator: admin } = await list(["api"], 3);
    const { exitCode, stdout, stderr } = await own.run([
      ...["block", "ann", "1h", "--limiter", "api", "--reason", "scrapes"],
    ]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^api, ann: block for 1h\n {2}before: 3-per-1h: 3 of 3 used; /);
    expect(stdout).toMatch(/now: blocked until .*, in (1 h|59 min)/);
    expect(stdout).toMatch(/\n {2}in force everywhere by \d{4}-\d\d-\d\d \d\d:\d\d:\d\d .+\n$/);
    const [entry] = (await admin.log()).entries;
    expect(entry).toMatchObject({ kind: "block", reason: "scrapes", subject: { default: "ann" } });
    expect(await own.json(["unblock", "ann", "--limiter", "api"])).toMatchObject({
      action: "unblock",
      dryRun: false,
      done: [{ limiter: "api", before: { blocked: true }, after: { blocked: false } }],
      notDone: [],
    });
    expect(await own.json(["reset", "ann", "--limiter", "api"])).toMatchObject({
      done: [{ before: { limits: [{ remaining: 0 }] }, after: { limits: [{ remaining: 3 }] } }],
    });
  });

  test.each([
    ["reset", "ann", "--limiter", "api"],
    ["block", "ann", "1h", "--all"],
    ["unblock", "ann", "--all"],
    ["forget", "ann"],
    ["set", "--limiter", "api", "3-per-1h.limit=5"],
    ["unset", "--limiter", "api"],
    ["inspect", "ann"],
    ["explain", "ann", "--limiter", "api"],
  ])(
    "headgate %s %s %s changes nothing in Redis if it is a dry run or only reads",
    async (...args) => {
      const { operator: admin, api } = await list(["api", "web"]);
      await admin.block(api, "ann", "1h");
      await admin.setOverride({ limiter: "api", shadow: true });
      const before = await own.dump();
      const isAction = !["inspect", "explain"].includes(args[0] ?? "");
      const { exitCode, stdout } = await own.run(isAction ? [...args, "--dry-run"] : args);
      expect([exitCode, stdout.length > 0]).toEqual([0, true]);
      expect(await own.dump()).toEqual(before);
    },
  );

  test("requires --yes on several limiters if there is no terminal", async () => {
    await list(["api", "web"]);
    const before = await own.dump();
    const refused = await own.run(["block", "ann", "1h", "--all"]);
    expect([refused.exitCode, refused.stdout]).toEqual([2, ""]);
    expect(refused.stderr).toContain(
      "this would block for 1h: api, ann; web, ann: confirm with --yes",
    );
    expect(await own.dump()).toEqual(before);
    const { done } = (await own.json(["block", "ann", "1h", "--all", "--yes"])) as {
      done: object[];
    };
    expect(done).toMatchObject([{ limiter: "api" }, { limiter: "web" }]);
    const global = await own.run(["set", "--limiter", "api", "--shadow", "on"]);
    expect([global.exitCode, global.stderr]).toEqual([2, expect.stringContaining("--yes")]);
  });

  test("reports what was done and what was not if it fails in the middle, and exits with 3", async () => {
    await list(["api", "web"]);
    const key = (await own.client.keys("hg:{ann}:web:*"))[0] as string;
    await own.client.del(key);
    await own.client.lpush(key, "not Headgate's");
    const { exitCode, stdout, stderr } = await own.run(["block", "ann", "1h", "--all", "--yes"]);
    expect(exitCode).toBe(3);
    expect(stdout).toContain("api, ann: block for 1h");
    expect(stderr).toMatch(
      /^headgate: block for 1h: done in api; not in web, .*run the command again; .+\n$/,
    );
  });

  test("reports the store's error alone if nothing was done before it, or if it only previews", async () => {
    await list(["api", "web"]);
    const spoil = async (limiter: string) => {
      const key = (await own.client.keys(`hg:{ann}:${limiter}:*`))[0] as string;
      await own.client.del(key);
      await own.client.lpush(key, "not Headgate's");
    };
    const block = ["block", "ann", "1h", "--all"];
    await spoil("web");
    const previewed = await own.run([...block, "--dry-run"]);
    expect(previewed.stdout).toContain("api, ann: would block for 1h");
    await spoil("api");
    for (const { exitCode, stderr } of [previewed, await own.run([...block, "--yes"])]) {
      expect([exitCode, stderr]).toEqual([3, expect.stringContaining("HEADGATE_WRONG_TYPE")]);
      expect(stderr).not.toMatch(/done in|half done/);
    }
  });

  test("forget erases a subject in every limiter, and its name in the log", async () => {
    const { operator: admin } = await list(["api", "web"], 4);
    await own.run(["set", "--limiter", "api", "--subject", "ann", "3-per-1h.limit=9"]);
    const { exitCode, stdout } = await own.run(["forget", "ann", "--yes"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("override removed: 3-per-1h: limit 9; for ann");
    expect(stdout).toContain("name removed from 1 log entry");
    expect(await own.client.keys("*ann*")).toEqual([]);
    const { entries } = await admin.log();
    expect(entries.map(({ kind }) => kind)).toEqual(["forget", "forget", "setOverride"]);
    expect(JSON.stringify(entries)).not.toContain("ann");
  });

  test("forget erases a subject's usage, and prints the number of usage lists that named it", async () => {
    const limits = fixedWindow({ limit: 3, window: "1h" });
    const store = redisStore(own.client, { usage: { subjects: "plain" } });
    const limiter = createLimiter({ name: "api", limits, store });
    await limiter.consume("ann");
    await limiter.consume("bob");
    await writeRegistry(store);
    await limiter.close();
    const [used = "", ...others] = await own.client.keys("*:used/*");
    expect(others).toEqual([]);
    expect(await own.client.zcard(used)).toBe(2);
    const args = ["forget", "ann", "--limits", JSON.stringify(limits), "--limiter", "api"];
    expect(await own.json(args)).toMatchObject({
      done: [{ notes: ["name removed from 1 usage list"] }],
    });
    expect(await own.client.zrange(used, "0", "-1")).toEqual(["default bob"]);
  });
});

describe("headgate set and unset", () => {
  test("set and remove an override with limits or shadow mode, for one subject or for all", async () => {
    const { operator: admin } = await list(["api"]);
    const set = ["set", "--limiter", "api", "--subject", "ann", "3-per-1h.limit=5"];
    const { exitCode, stdout } = await own.run([...set, "--for", "2h"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/before: no override\n {2}now: 3-per-1h: limit 5; for ann, until /);
    const [override] = (await admin.readControl()).overrides;
    expect(override).toMatchObject({
      subject: { default: "ann" },
      limits: { "3-per-1h": { limit: 5 } },
    });
    await own.run(["set", "--limiter", "api", "--shadow", "on", "--forever", "--yes"]);
    expect((await admin.readControl()).overrides[1]).toMatchObject({
      shadow: true,
      until: null,
    });
    const unset = await own.run(["unset", "--limiter", "api", "--yes"]);
    expect(unset.stdout).toMatch(
      /before: in shadow mode; for \(all subjects\), until it is removed\n {2}now: no override/,
    );
    expect((await admin.readControl()).overrides).toHaveLength(1);
  });

  test.each<[readonly string[], string]>([
    [["x.limit=5"], 'no limit is called "x"; the limits are "3-per-1h"'],
    [["3-per-1h.window=5"], '"window"'],
    [["3-per-1h.limit=10000000000"], "limit must be a whole number from 0 to 1000000000"],
    [["3-per-1h.limit"], "write LIMIT.NUMBER=VALUE"],
    [["--shadow", "maybe"], "--shadow must be on or off"],
    [[], "give LIMIT.limit=NUMBER"],
    [["--shadow", "on", "--for", "1h", "--forever"], "not both"],
    [["--shadow", "on", "--for", "400d"], "--for must be a time from 1ms to 366d"],
    [["--shadow", "on", "--subject", "tenant=acme"], "not by tenant"],
  ])("set rejects %j, and changes nothing", async (args, message) => {
    await list(["api"]);
    const { exitCode, stderr } = await own.run(["set", "--limiter", "api", "--yes", ...args]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(await own.client.exists("hg:{control}")).toBe(0);
  });
});

describe("wrong arguments of an action are an error of one line", () => {
  test.each<[readonly string[], string]>([
    [["reset", "ann"], "give --limiter NAME, or --all"],
    [["reset", "ann", "--limiter", "api", "--all"], "not both"],
    [["block", "ann", "--limiter", "api"], "the duration of block must be a time from 1ms to 366d"],
    [["block", "ann", "0s", "--limiter", "api"], 'or 7d, got "0s"'],
    [["explain", "ann", "--cost", '{"3-per-1h":2}'], "is for one limiter: give --limiter NAME"],
    [["explain", "ann", "--limiter", "api", "--cost", "much"], "--cost must be JSON"],
    [["set", "--shadow", "on"], "give --limiter NAME"],
    [["breaker", "bank", "eu", "explode"], "the order must be open, close, reset"],
    [["breaker", "bank"], 'no breaker "bank" in the registry'],
  ])("%j", async (args, message) => {
    const { exitCode, stdout, stderr } = await own.run(args);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^headgate: .+\n$/);
    expect(stderr).toContain(message);
  });
});

test("an override that fits one of two versions of a policy is set, and the output message how many processes ignore it", async () => {
  const { operator: admin } = await list(["api"]);
  const client = own.client.duplicate();
  onTestFinished(() => client.disconnect());
  const second = redisStore(client);
  const limits = gcra({ limit: 5, window: "1m" });
  const limiter = createLimiter({ name: "api", limits, store: second });
  onTestFinished(() => limiter.close());
  await writeRegistry(second);
  const set = (number: string) => own.run(["set", "--limiter", "api", "--yes", number]);
  const { exitCode, stdout } = await set("5-per-1m.limit=50");
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringMatching(
      /in force: in 1 process; ignored by 1 process: no limit is called "5-per-1m"; the limits are "3-per-1h"\n {2}known everywhere by /,
    ),
  ]);
  expect(
    await own.json(["set", "--limiter", "api", "--dry-run", "5-per-1m.limit=50"]),
  ).toMatchObject({
    done: [{ coverage: { state: "partial", applyingProcesses: 1, ignored: [{ processes: 1 }] } }],
  });
  const { overrides } = await admin.readControl();
  expect(overrides).toMatchObject([{ limits: { "5-per-1m": { limit: 50 } } }]);
  const neither = await set("9-per-1m.limit=50");
  expect([neither.exitCode, neither.stdout]).toEqual([2, ""]);
  expect((await admin.readControl()).overrides).toEqual(overrides);
});

test("inspect and reset cover both versions of a policy", async () => {
  const { store } = await list(["api"]);
  const other = gcra({ limit: 5, window: "1m" });
  const client = own.client.duplicate();
  onTestFinished(() => client.disconnect());
  const second = redisStore(client);
  const limiter = createLimiter({ name: "api", limits: other, store: second });
  onTestFinished(() => limiter.close());
  await writeRegistry(second);
  const { stdout } = await own.run(["inspect", "ann", "--limiter", "api"]);
  expect(stdout.match(/one of several versions of this policy/g)).toHaveLength(2);
  expect(await own.json(["reset", "ann", "--limiter", "api"])).toMatchObject({
    done: [{ limiter: "api" }, { limiter: "api" }],
  });
  expect(store.prefix).toBe("hg");
});

test("headgate breaker shows a target, forces its state in the whole fleet, and logs that", async () => {
  const store = own.store();
  const openFor = () => "1m" as const;
  const breaker = createBreaker({ name: "bank", store, flushInterval: 0, openFor });
  onTestFinished(() => breaker.close());
  await breaker.for("eu").record("failure");
  await writeRegistry(store);
  const look = await own.run(["breaker", "bank", "eu"]);
  expect(look.stdout).toBe("bank, eu\n  closed, 1 call, 1 failed, 0 slow, 0 % succeeded\n");
  const before = await own.dump();
  const dry = await own.run(["breaker", "bank", "eu", "open", "--dry-run"]);
  expect([dry.exitCode, dry.stdout]).toEqual([0, expect.stringContaining("would open")]);
  expect(await own.dump()).toEqual(before);
  const opened = await own.run(["breaker", "bank", "eu", "open", "--reason", "maintenance"]);
  expect(opened.stdout).toMatch(
    /before: closed, .*\n {2}now: forced-open, .*\n {2}in force everywhere/,
  );
  expect((await breaker.for("eu").admit()).allowed).toBe(false);
  // An order without an entry in the log must not be in force.
  const unlogged = ["breaker", "bank", "us", "open", "--reason", "x".repeat(1_001)];
  expect((await own.run(unlogged)).exitCode).toBe(2);
  expect((await breaker.for("us").snapshot()).state).toBe("closed");
  const states = {
    disable: "disabled",
    "metrics-only": "metrics-only",
    reset: "closed",
    close: "closed",
  };
  for (const [order, state] of Object.entries(states)) {
    expect(await own.json(["breaker", "bank", "eu", order])).toMatchObject({
      done: [{ after: { state } }],
    });
  }
  const { entries } = await createAdmin(store).log();
  expect(entries).toHaveLength(5);
  expect(entries[4]).toMatchObject({
    kind: "breaker",
    limiter: "bank",
    subject: { target: "eu" },
    reason: "maintenance",
    after: { state: "forced-open" },
  });
});

test("headgate breaker says how often a target has opened in a row", async () => {
  const store = own.store();
  const options = { minimumCalls: 1, openFor: "1h", trialCalls: 1, flushInterval: 0 } as const;
  const breaker = createBreaker({ name: "bank", store, ...options });
  onTestFinished(() => breaker.close());
  await breaker.for("eu").record("failure");
  await writeRegistry(store);
  const { stdout } = await own.run(["breaker", "bank", "eu"]);
  expect(stdout).toMatch(/^bank, eu\n {2}open, .*\n {2}opened once\n {2}trial calls in /);
});
