import { createLimiter, fixedWindow } from "@headgate/core";
import { createAdmin, hashSubject } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { limitFetch } from "@headgate/fetch";
import { expect, onTestFinished, test } from "vitest";
import { sendUsage } from "../support/send-usage.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { useHeadgate } from "./actions/use-headgate.ts";
import { expectDocument } from "./json-schema.ts";
import { runCli } from "./run-cli.ts";

const own = useHeadgate();

/** Runs `headgate blocks` on the server of the suite. */
function blocks(...args: readonly string[]) {
  const environment = { REDIS_URL: `redis://127.0.0.1:${own.server.port}` };
  return runCli(["blocks", ...args], { environment });
}

const LIMITS = fixedWindow({ name: "tries", limit: 1, window: "1h", block: "2h" });

/** Two limiters: a limit of one blocks a subject, and an operator one of the other. */
async function start(): Promise<void> {
  const store = redisStore(own.client, { usage: true });
  const options = { limits: LIMITS, store, storeTimeout: "20s" } as const;
  const login = createLimiter({ ...options, name: "login" });
  const other = createLimiter({ ...options, name: "other" });
  onTestFinished(async () => {
    await login.close();
    await other.close();
  });
  await writeRegistry(store);
  for (let i = 0; i < 3; i += 1) await login.consume("ann");
  await sendUsage(store);
  const by = { by: "eve", reason: "abuse" };
  await createAdmin(store).block({ name: "other", limits: LIMITS }, "bob", "1d", by);
}

test("headgate blocks lists blocks with the time left and the operator or limit that set them", async () => {
  expect(await blocks()).toEqual({ exitCode: 0, stdout: "No blocks are in force.\n", stderr: "" });
  await start();
  const { exitCode, stdout, stderr } = await blocks();
  expect(exitCode).toBe(0);
  const [head, first, second, ...rest] = stdout.trimEnd().split("\n");
  expect(head?.trim().split(/ {2,}/)).toEqual([
    "LIMITER",
    "SUBJECT",
    "ENDS IN",
    "SET BY",
    "REASON",
  ]);
  expect(first).toMatch(/^other +bob +(23 h 60 min|1 d|23 h 59 min) +the operator eve +abuse/);
  expect(second).toMatch(
    new RegExp(`^login +#${hashSubject("ann")} +(2 h|1 h 59 min|1 h 60 min) +the limit tries`),
  );
  expect(rest).toEqual([]);
  expect(stderr).toContain("Each #... is the hash of a subject");
});

test("headgate blocks lists a cooldown of an API with its reason, until an operator ends it", async () => {
  const store = redisStore(own.client, { usage: { subjects: "plain" } });
  const limits = fixedWindow({ limit: 100, window: "1h" });
  const limiter = createLimiter({ name: "partner", limits, store, storeTimeout: "20s" });
  onTestFinished(() => limiter.close());
  await writeRegistry(store);
  const headers = { "retry-after": "1800" };
  const send = limitFetch({
    limiter,
    key: () => "account-1",
    fetch: async () => new Response("", { status: 429, headers }),
  });
  expect((await send("https://api.example/orders")).status).toBe(429);
  await sendUsage(store);
  const { stdout } = await blocks();
  expect(stdout).toMatch(
    /^partner +account-1 +(30 min|29 min) +the application +api\.example answered 429$/m,
  );
  await createAdmin(store).unblock({ name: "partner", limits }, "account-1");
  expect((await blocks()).stdout).toBe("No blocks are in force.\n");
});

test("headgate blocks --json prints one document, also for one limiter", async () => {
  await start();
  const { stdout } = await blocks("--json", "--limiter", "other");
  expectDocument("blocks", stdout);
  expect(JSON.parse(stdout).blocks).toEqual([
    {
      ...{ limiter: "other", dimension: "default", subject: "bob", shadow: false },
      ...{ until: expect.any(Number), setAt: expect.any(Number), by: "eve", reason: "abuse" },
    },
  ]);
});
