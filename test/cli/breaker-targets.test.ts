import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { expectDocument } from "./json-schema.ts";
import { runCli } from "./run-cli.ts";

const own = useOwnRedis();

function headgate(line: string, ...more: readonly string[]) {
  return runCli([...line.split(" "), "--redis", own.server.socket, ...more]);
}

/** A process whose breaker has called targets: with so many failures each, of four calls. */
async function call(failures: Readonly<Record<string, number>>): Promise<void> {
  const client = new Redis(own.server.socket);
  const store = redisStore(client);
  const breaker = createBreaker({
    ...{ name: "payments", store, storeTimeout: "10s", flushInterval: 0 },
    ...{ minimumCalls: 4, openFor: "30m" },
  });
  onTestFinished(async () => {
    await breaker.close();
    client.disconnect();
  });
  for (const [name, failed] of Object.entries(failures)) {
    const target = breaker.for(name);
    for (let i = 0; i < 4; i += 1) await target.record(i < failed ? "failure" : "success");
  }
  await writeRegistry(store);
}

function rowsOf(table = ""): string[][] {
  return table
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {3,}/));
}

/** Rewrites the records of all processes. */
async function rewrite(change: (record: Record<string, unknown>) => unknown): Promise<void> {
  for (const key of await own.client.keys("hg:{registry}:process/*")) {
    const record = JSON.parse((await own.client.get(key)) ?? "");
    await own.client.set(key, JSON.stringify(change(record)), "PX", 60_000);
  }
}

test("headgate breakers shows the targets of all processes without --target", async () => {
  await call({ "bank-us": 1, "bank-eu": 4 });
  await call({ "bank-us": 0, "bank-asia": 0 });
  const { exitCode, stdout, stderr } = await headgate("breakers");
  expect([exitCode, stderr]).toEqual([0, ""]);
  const [, states] = stdout.split("\n\n");
  expect(rowsOf(states)).toEqual([
    ["BREAKER", "TARGET", "STATE", "CALLS", "SUCCESS", "FAILED", "SLOW", "TRIAL CALLS"],
    ["payments", "bank-asia", "closed", "4", "100.0 %", "0", "0"],
    ["payments", "bank-eu", "open", "4", "0.0 %", "4", "0", "in 30 min"],
    ["payments", "bank-us", "closed", "8", "87.5 %", "1", "0"],
  ]);
  const document = expectDocument("breakers", (await headgate("breakers --json")).stdout);
  expect(document).toMatchObject({
    breakers: [{ targets: ["bank-asia", "bank-eu", "bank-us"] }],
    states: [{ target: "bank-asia" }, { target: "bank-eu", state: "open" }, { successRate: 0.875 }],
  });
  const named = expectDocument("breakers", (await headgate("breakers --json --target x")).stdout);
  expect(named).toMatchObject({ states: [{ target: "x", calls: 0 }] });
  expect((named as { states: unknown[] }).states).toHaveLength(1);
});

test("headgate breakers shows a target once if processes have several versions of Headgate", async () => {
  await call({ bank: 0 });
  const [key = ""] = await own.client.keys("hg:{registry}:record/*");
  const record = (await own.client.get(key)) ?? "";
  await own.client.set("hg:{registry}:record/other", record.replace('"version":"', '"version":"9'));
  await rewrite((process) => {
    const [targets] = process["targets"] as object[];
    const records = [...(process["records"] as string[]), "other"];
    return { ...process, records, targets: [targets, { ...targets, record: "other" }] };
  });
  const { breakers, states } = expectDocument(
    "breakers",
    (await headgate("breakers --json")).stdout,
  ) as { breakers: unknown[]; states: unknown[] };
  expect([breakers, states]).toMatchObject([{ length: 2 }, { length: 1 }]);
});

test("headgate breakers says whether targets of a breaker are unknown, or missing from the list", async () => {
  await call({ bank: 0 });
  await rewrite((process) => {
    const [targets] = process["targets"] as object[];
    return { ...process, targets: [{ ...targets, more: 7 }] };
  });
  expect((await headgate("breakers")).stdout).toContain("   at least 7 more targets\n");
  await rewrite(({ targets: _, ...process }) => process);
  const { stdout } = await headgate("breakers");
  expect(stdout).toContain("   targets unknown: give them with --target\n");
  expect(stdout).not.toContain("bank");
});

test("headgate breakers warns a user who may read only the registry that states are missing", async () => {
  await call({ bank: 0, shop: 0 });
  const commands = ["evalsha", "eval", "get", "strlen", "zcard", "zrange", "info"];
  const permissions = ["~hg:{registry}*", "-@all", ...commands.map((one) => `+${one}`)];
  await own.client.call("ACL", "SETUSER", "reader", "reset", "on", "nopass", ...permissions);
  const { exitCode, stdout, stderr } = await runCli(
    ["breakers", "--redis", own.server.socket, "--user", "reader", "--password-stdin"],
    { input: "any\n" },
  );
  expect(stdout).toMatch(/^payments /m);
  expect(stdout).not.toContain("bank");
  expect(stderr).toMatch(/^headgate: warning: cannot read the states of 2 targets: .+\n$/);
  expect(exitCode).toBe(0);
});
