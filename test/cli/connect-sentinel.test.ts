import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RedisSentinel } from "../support/redis-sentinel.ts";
import { startSentinel } from "../support/redis-sentinel.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { runCli } from "./run-cli.ts";

const PASSWORDS = { requirepass: "server-s3cret", sentinel: "sentinel-s3cret" };

let sentinel: RedisSentinel;
let url: string;

beforeAll(async () => {
  sentinel = await startSentinel({ replicas: 1 });
  url = `redis://${sentinel.addresses.map(({ host, port }) => `${host}:${port}`).join(",")}`;
  const primary = await sentinel.primary();
  const client = new Redis(primary.process.socket);
  const store = redisStore(client);
  const limits = gcra({ limit: 5, window: "1m" });
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "10s" });
  await writeRegistry(store);
  client.disconnect();
  await limiter.close();
});

afterAll(() => sentinel.stop());

test("the command connects to a primary by its name, even if only some of the given Sentinels answer", async () => {
  const { name } = sentinel;
  for (const at of [url, url.replace("redis://", "redis://127.0.0.1:1,")]) {
    const { exitCode, stdout, stderr } = await runCli([
      "limiters",
      "--redis",
      at,
      "--sentinel",
      name,
    ]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^LIMITER.*\napi /);
  }
});

test("a wrong primary name, a server instead of a Sentinel, and a Sentinel instead of a server have different errors", async () => {
  const failure = async (...args: readonly string[]) => {
    const { exitCode, stderr } = await runCli(["limiters", ...args]);
    expect([exitCode, stderr]).toEqual([3, expect.stringMatching(/^headgate: .+\n$/)]);
    return stderr;
  };
  const unknown = await failure("--redis", url, "--sentinel", "nobody");
  expect(unknown).toContain(`knows no primary nobody: use --sentinel with ${sentinel.name}`);
  const [data] = sentinel.nodes;
  const server = `redis://127.0.0.1:${data?.port}`;
  expect(await failure("--redis", server, "--sentinel", "x")).toContain("is not a Sentinel");
  const one = `redis://127.0.0.1:${sentinel.addresses[0]?.port}`;
  expect(await failure("--redis", one)).toContain("is a Sentinel: give its name of the primary");
  const none = await failure("--redis", "redis://127.0.0.1:1", "--sentinel", "x");
  expect(none).toContain("nothing listens there");
});

test("the URL has the password of the Sentinels, and standard input that of the server; a single password is used for both", async () => {
  const args = ["limiters", "--redis", url, "--sentinel", sentinel.name];
  for (const { admin } of sentinel.nodes) {
    await admin.command("CONFIG", "SET", "requirepass", PASSWORDS.requirepass);
  }
  const wanted = await runCli(args);
  expect([wanted.exitCode, wanted.stderr]).toEqual([
    3,
    expect.stringContaining("requires a password"),
  ]);
  expect(wanted.stderr).toContain(`the primary ${sentinel.name}`);
  expect(
    (await runCli([...args, "--password-stdin"], { input: PASSWORDS.requirepass })).exitCode,
  ).toBe(0);
  for (const { admin } of sentinel.sentinels) {
    await admin.command(
      "ACL",
      "SETUSER",
      "default",
      `>${PASSWORDS.sentinel}`,
      "resetpass",
      `>${PASSWORDS.sentinel}`,
    );
  }
  const refused = await runCli([...args, "--password-stdin"], { input: PASSWORDS.requirepass });
  expect([refused.exitCode, refused.stderr]).toEqual([
    3,
    expect.stringContaining("the user or the password is wrong"),
  ]);
  const REDIS_URL = url.replace("://", `://:${PASSWORDS.sentinel}@`);
  const both = await runCli(["limiters", "--sentinel", sentinel.name, "--password-stdin"], {
    environment: { REDIS_URL },
    input: PASSWORDS.requirepass,
  });
  expect([both.exitCode, both.stdout]).toEqual([0, expect.stringContaining("api")]);
  for (const { admin } of sentinel.nodes) {
    await admin.command("CONFIG", "SET", "requirepass", PASSWORDS.sentinel);
  }
  const alone = await runCli(["limiters", "--sentinel", sentinel.name], {
    environment: { REDIS_URL },
  });
  expect([alone.exitCode, alone.stderr.includes("s3cret")]).toEqual([0, false]);
});
