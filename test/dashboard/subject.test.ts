import { createAdmin } from "@headgate/core/admin";
import { subjectOfHeader } from "@headgate/core/http";
import { byHeader, byIp, createLimiter, fixedWindow, gcra, rateLimit } from "@headgate/express";
import express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import type { BlockRow, SubjectView } from "../../packages/dashboard/src/api.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { serve } from "../support/serve.ts";
import { consume, createFleet, THREE_AN_HOUR } from "./support/fleet.ts";
import { nodeMount } from "./support/mounts.ts";
import { api, sendRequest } from "./support/send-request.ts";

const own = useOwnRedis();

/** A fleet with usage, and its page for a visitor who may read. */
async function seed() {
  const fleet = createFleet(own.client);
  const api = fleet.make("api", THREE_AN_HOUR);
  const login = fleet.make("login", gcra({ limit: 100, window: "1m", burst: 10 }));
  await consume(api, "ann", 5);
  await consume(api, "bob", 1);
  await consume(login, "ann", 2);
  await fleet.report();
  const admin = createAdmin(fleet.store);
  const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
  return { fleet, operator: admin, page, api: { name: "api", limits: THREE_AN_HOUR } };
}

describe("a subject lookup", () => {
  test("shows which limit denies until when, and the operators' actions", async () => {
    const began = Date.now();
    const { page, operator: admin, api: limiter } = await seed();
    await admin.reset(limiter, "bob", { by: "eve", reason: "our mistake" });
    const asked = Date.now();
    const { json } = await api(page, "subject", { subject: "ann", kind: "text", limiter: "api" });
    const took = Date.now() - asked;
    expect(json.limiters).toHaveLength(1);
    const [ann] = json.limiters;
    expect(ann).toMatchObject({
      allowed: false,
      deniedBy: { kind: "block" },
      subject: { default: "ann" },
      limits: [{ limit: "3-per-1h", capacity: 3, used: 3, remaining: 0 }],
      blocks: [{ limit: "3-per-1h" }],
      history: [],
    });
    // The time left is read a moment after the time of the view.
    expect(ann.until - 600_000).toBeGreaterThanOrEqual(began - took);
    expect(ann.until - 600_000).toBeLessThanOrEqual(json.at);
    const bob = await api(page, "subject", { subject: "bob", kind: "text", limiter: "api" });
    expect(bob.json.limiters[0]).toMatchObject({
      allowed: true,
      history: [{ kind: "reset", by: "eve", reason: "our mistake" }],
    });
  });

  test("shows limits of other shapes that the subject has used, and when they allow the next request", async () => {
    const fleet = createFleet(own.client);
    const limiter = fleet.make("api", THREE_AN_HOUR);
    await limiter.consume("ann");
    const daily = fixedWindow({ limit: 9, window: "1d" });
    const hourly = fixedWindow({ name: "plan", limit: 2, window: "1h", align: "clock" });
    await limiter.consume("ann", { limits: daily, cost: 4 });
    await limiter.consume("ann", { limits: hourly, cost: 2 });
    await fleet.report();
    const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
    const { json } = await api(page, "subject", { subject: "ann", kind: "text" });
    const [ann] = json.limiters;
    expect(ann.limits).toHaveLength(3);
    expect(ann.limits[0]).toMatchObject({ limit: "3-per-1h", used: 1, capacity: 3, remaining: 2 });
    const used = ann.limits.find(({ limit }: { limit: string }) => limit === "9-per-1d");
    expect(used).toMatchObject({
      description: "9 per day for each client (fixedWindow)",
      ...{ used: 4, capacity: 9, remaining: 5, allowed: true, nextAllowedAt: json.at },
    });
    const full = ann.limits.find(({ limit }: { limit: string }) => limit === "plan");
    expect(full).toMatchObject({
      description: "plan: 2 per hour for each client, by the clock (fixedWindow)",
      ...{ used: 2, remaining: 0, allowed: false },
    });
    const nextHour = (Math.floor(json.at / 3_600_000) + 1) * 3_600_000;
    expect(Math.abs(full.nextAllowedAt - nextHour)).toBeLessThan(2_000);
  });

  test("shows which operator set a block, and why", async () => {
    const { page, operator: admin, api: limiter } = await seed();
    await admin.block(limiter, "bob", "2h", { by: "eve", reason: "scrapes" });
    const { json } = await api(page, "subject", { subject: "bob", kind: "text", limiter: "api" });
    expect(json.limiters[0]).toMatchObject({
      deniedBy: { kind: "block" },
      blocks: [{ setBy: "operator", by: "eve", reason: "scrapes" }],
      history: [{ kind: "block", before: "not blocked", after: "blocked" }],
    });
    expect(json.limiters[0].blocks[0]).not.toHaveProperty("limit");
    const control = await api(page, "control");
    const manual = control.json.blocks.filter(({ limit }: BlockRow) => limit === undefined);
    expect(manual).toMatchObject([
      { limiter: "api", subject: { default: "bob" }, by: "eve", reason: "scrapes" },
    ]);
  });

  test("names no operator for a block of the application that lasts longer than the operator's", async () => {
    const { fleet, page, operator: admin, api: limiter } = await seed();
    await admin.block(limiter, "bob", "1m", { by: "eve", reason: "scrapes" });
    const application = fleet.make("api", THREE_AN_HOUR);
    await application.block("bob", "2h", { reason: "a stolen card" });
    await fleet.report();
    const { json } = await api(page, "subject", { subject: "bob", kind: "text", limiter: "api" });
    const [block] = json.limiters[0].blocks;
    expect(block).toMatchObject({ setBy: "application", reason: "a stolen card" });
    expect(block).not.toHaveProperty("by");
  });

  test("finds an address that a function of the application returns, in the limiter that is asked for", async () => {
    const fleet = createFleet(own.client);
    const app = express();
    const middleware = rateLimit({
      name: "site",
      limits: THREE_AN_HOUR,
      store: fleet.store,
      key: () => "203.0.113.7",
    });
    app.use(middleware);
    app.get("/", (_, response) => response.end());
    await sendRequest(await serve(app));
    await fleet.report();
    const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
    const lookup = { subject: "203.0.113.7", kind: "address" };
    const found = async (limiter?: string) => {
      const { json } = await api(page, "subject", { ...lookup, limiter });
      return (json as SubjectView).limiters.map(({ subject, limits }) => [
        subject["default"],
        limits[0]?.used,
      ]);
    };
    // A request for which the function returned nothing would count by its address.
    const withoutKey = ["~ip~203.0.113.7", 0];
    expect(await found("site")).toEqual([withoutKey, ["203.0.113.7", 1]]);
    // In all limiters, most such functions return something else, such as a user ID.
    expect(await found()).toEqual([withoutKey]);
    await middleware.close();
  });

  test("finds a client by address and by header as adapters count them, and never returns the header's value", async () => {
    const fleet = createFleet(own.client);
    const app = express();
    const middleware = [
      rateLimit({ name: "site", limits: THREE_AN_HOUR, store: fleet.store, key: byIp() }),
      rateLimit({
        name: "keys",
        limits: { ...THREE_AN_HOUR, limit: 1 },
        store: fleet.store,
        key: byHeader("x-api-key"),
        missingKey: "reject",
      }),
    ];
    for (const one of middleware) app.use(one);
    app.get("/", (_, response) => response.end());
    const url = await serve(app);
    for (let i = 0; i < 2; i += 1)
      await sendRequest(url, { headers: { "x-api-key": "sesame-12345" } });
    await fleet.report();
    await createAdmin(fleet.store).addToDenyList("127.0.0.0/8", { reason: "a flood" });
    const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
    const address = await api(page, "subject", { subject: "127.0.0.1", kind: "address" });
    expect(address.json).toMatchObject({
      client: { kind: "address", address: "127.0.0.1" },
      limiters: [
        { name: "site", allowed: false, deniedBy: { kind: "denyList" }, limits: [{ used: 2 }] },
      ],
      skipped: [{ name: "keys", countsBy: "counts default (by the header x-api-key)" }],
      denyList: [{ network: "127.0.0.0/8", reason: "a flood" }],
    });
    const question = { subject: "sesame-12345", kind: "header", header: "X-API-Key" };
    const header = await api(page, "subject", question);
    expect(header.body.toString()).not.toContain("sesame");
    expect(header.json).toMatchObject({
      client: { kind: "header", header: "x-api-key" },
      limiters: [
        {
          name: "keys",
          allowed: false,
          subject: { default: subjectOfHeader("x-api-key", "sesame-12345") },
        },
      ],
    });
    const wrong = await api(page, "subject", { ...question, header: "sesame: x" });
    expect([wrong.status, wrong.body.toString().includes("sesame")]).toEqual([400, false]);
    for (const one of middleware) await one.close();
  });

  test("includes a limiter that counts all clients together", async () => {
    const fleet = createFleet(own.client);
    const limits = fixedWindow({ limit: 1, window: "1h", per: "global" });
    const all = createLimiter({ name: "all", limits, store: fleet.store, denyCache: false });
    onTestFinished(() => all.close());
    await all.consume({ global: "*" });
    await fleet.report();
    const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
    const { json } = await api(page, "subject", { subject: "203.0.113.7", kind: "address" });
    expect(json.limiters).toMatchObject([
      {
        name: "all",
        allowed: false,
        deniedBy: { kind: "limit", limit: "1-per-1h" },
        subject: { global: "*" },
      },
    ]);
  });

  test("includes a limit for all clients together, but offers actions only on the client's own subject", async () => {
    const fleet = createFleet(own.client);
    const limits = [THREE_AN_HOUR, fixedWindow({ limit: 1, window: "1h", per: "global" })];
    const both = createLimiter({ name: "both", limits, store: fleet.store, denyCache: false });
    onTestFinished(() => both.close());
    await both.consume({ default: "bob", global: "*" });
    await fleet.report();
    const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
    const { json } = await api(page, "subject", { subject: "ann", kind: "text" });
    expect(json.limiters).toMatchObject([
      {
        allowed: false,
        deniedBy: { kind: "limit", limit: "1-per-1h" },
        subject: { default: "ann" },
      },
    ]);
  });
});
