import { createBreaker } from "@headgate/breaker";
import { createAdmin } from "@headgate/core/admin";
import type { Permission } from "@headgate/dashboard";
import { expect, onTestFinished, test } from "vitest";
import { actionLogKey } from "../../packages/core/src/control/operations.ts";
import { READ_ENDPOINTS, WRITE_ENDPOINTS } from "../../packages/dashboard/src/endpoints.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { consume, createFleet, THREE_AN_HOUR } from "./support/fleet.ts";
import { nodeMount } from "./support/mounts.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

/** The clock of the fleet stands still, because previews say how many requests came "in the last 7 minutes". */
const clock = () => 1_799_999_820_000;

/** A text in all data that the visitor may not see. */
const MARK = "hushed";

const authorize = (): Permission => ({
  by: "eve",
  actions: "all",
  limiters: (name) => !name.includes(MARK),
});

/** Requests to each endpoint. */
const REQUESTS: readonly (readonly [path: string, body?: object])[] = [
  ["session"],
  ...["15m", "1h", "24h", "30d"].map((span) => [`overview?span=${span}`] as const),
  ["limiter?name=api"],
  [`limiter?name=${MARK}`],
  ["breakers"],
  ["control"],
  ["log"],
  ["redis"],
  ["subject", { subject: "ann", kind: "text" }],
  ["subject", { subject: "203.0.113.9", kind: "address" }],
  ["subject", { subject: MARK, kind: "text" }],
  ...["api", MARK].flatMap((limiter) =>
    [
      { kind: "block", limiter, subject: { default: "ann" }, forMs: 60_000 },
      { kind: "reset", limiter, subject: { default: "ann" } },
      { kind: "setOverride", limiter, shadow: false, forMs: null },
      { kind: "unsetOverride", limiter },
      { kind: "breaker", breaker: limiter, target: "eu", order: "open" },
      { kind: "forget", limiter, subject: { default: "ann" } },
    ].map((action) => ["preview", { action }] as const),
  ),
  ["act", { action: { kind: "unblock", limiter: MARK, subject: { default: "a" } }, token: "t" }],
];

/** The responses to all requests without times and tokens. */
async function responsesOf(page: string): Promise<Readonly<Record<string, unknown>>> {
  const responses: Record<string, unknown> = {};
  for (const [path, body] of REQUESTS) {
    const { status, json } = await api(page, path, body);
    const text = JSON.stringify(json, (name, value: unknown) =>
      ["latencyMs", "token", "uptimeSeconds"].includes(name) ? null : value,
    );
    const timeless = text.replaceAll(
      /\b1[67]\d{11}(?:\.\d+)?\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g,
      "0",
    );
    responses[`${path} ${JSON.stringify(body)}`] = [status, timeless];
  }
  return responses;
}

/** Rewrites the process records under keys that are not in `known`. */
async function rewrite(
  known: ReadonlySet<string>,
  change: (record: object) => object,
): Promise<void> {
  for (const key of await own.scan()) {
    if (known.has(key.toString()) || (await own.client.type(key.toString())) !== "string") continue;
    const text = (await own.client.get(key.toString())) ?? "";
    if (!text.includes('"pid"')) continue;
    await own.client.set(key.toString(), JSON.stringify(change(JSON.parse(text))), "KEEPTTL");
  }
}

async function keys(): Promise<ReadonlySet<string>> {
  return new Set((await own.scan()).map(String));
}

/** Data that a visitor with restricted limiters may see. */
async function seedSeen() {
  const fleet = createFleet(own.client, clock);
  await consume(fleet.make("api", THREE_AN_HOUR), "ann", 5);
  const admin = createAdmin(fleet.store);
  await admin.setOverride({ limiter: "api", shadow: true }, { by: "root", reason: "seen" });
  await admin.addToDenyList("203.0.113.9", { by: "root", reason: MARK });
  await fleet.report();
  return { fleet, operator: admin };
}

/** Adds hidden data in the same process and in another one. */
async function addHidden({ fleet, operator: admin }: Awaited<ReturnType<typeof seedSeen>>) {
  const limiter = { name: MARK, limits: THREE_AN_HOUR };
  await consume(fleet.make(MARK, THREE_AN_HOUR), "ann", 9);
  await consume(fleet.make(`unread ${MARK}`, { ...THREE_AN_HOUR, limit: 7 }), MARK, 9);
  const breaker = createBreaker({ name: MARK, store: fleet.store });
  onTestFinished(() => breaker.close());
  await breaker.for(MARK).run(async () => 1);
  const note = { by: MARK, reason: MARK };
  await admin.block(limiter, MARK, "1h", note);
  await admin.block(limiter, "ann", "1h", note);
  await admin.setOverride({ limiter: MARK, subject: { default: "ann" }, shadow: false }, note);
  await admin.setOverride({ limiter: `gone ${MARK}`, shadow: true }, note);
  await fleet.report();
  await rewrite(new Set(), (record) => ({ ...record, more: 3 }));
  const before = await keys();
  const other = createFleet(own.client, clock);
  other.make(MARK, { ...THREE_AN_HOUR, limit: 8 });
  // It does not report usage.
  await writeRegistry(other.store);
  await rewrite(before, (record) => ({ ...record, process: "another", host: MARK, pid: 1 }));
  for (const key of await own.scan()) {
    if ((await own.client.type(key.toString())) !== "string") continue;
    const text = (await own.client.get(key.toString())) ?? "";
    if (text.includes(`"unread ${MARK}"`)) await own.client.set(key.toString(), "no record");
    // The log of actions.
    if (text.includes('"kind":"setOverride"'))
      await own.client.append(key.toString(), "\nno entry");
  }
  await own.client.lpush(actionLogKey(fleet.store.prefix), "no entry");
}

test("a hidden limiter changes no response to a visitor who may not see it", async () => {
  const seen = await seedSeen();
  const breaker = createBreaker({ name: "api", store: seen.fleet.store });
  onTestFinished(() => breaker.close());
  await breaker.for("eu").run(async () => 1);
  await seen.fleet.report();
  const doctor = async () => ({ checks: [{ findings: [{ status: "warning", message: MARK }] }] });
  const options = { store: seen.fleet.store, createBreaker, doctor };
  const without = await responsesOf(await nodeMount.mount({ ...options, authorize }));
  await addHidden(seen);
  const whole = await nodeMount.mount({
    ...options,
    authorize: () => ({ by: "root", actions: "all" }),
  });
  // A visitor who may see everything gets the hidden data.
  const { json } = await api(whole, "overview");
  expect(json).toMatchObject({ processes: [{}, {}], coverage: { silentProcesses: 1 } });
  expect(json.unreadable).toBeGreaterThan(0);
  expect((await api(whole, "log")).json.unreadable).toBeGreaterThan(0);
  for (const path of ["overview", "control", "log", "breakers"]) {
    expect((await api(whole, path)).body.toString()).toContain(MARK);
  }
  const restricted = await nodeMount.mount({ ...options, authorize });
  // Nor does a complete list tell that no block is hidden.
  expect((await api(restricted, "overview")).json.active.hasAllBlocks).toBe(false);
  const withHidden = await responsesOf(restricted);
  expect(withHidden).toEqual(without);
  for (const [request, response] of Object.entries(withHidden)) {
    if (!request.includes(MARK)) expect(JSON.stringify(response), request).not.toContain(MARK);
  }
  const endpoints = new Set(REQUESTS.map(([path]) => path.split("?")[0]));
  expect([...endpoints].sort()).toEqual(
    Object.keys({ ...READ_ENDPOINTS, ...WRITE_ENDPOINTS }).sort(),
  );
});
