import { createBreaker } from "@headgate/breaker";
import { createLimiter, fixedWindow } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import type { ActionName, Permission } from "@headgate/dashboard";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { createFleet, createFleetWithUsage, THREE_AN_HOUR } from "./support/fleet.ts";
import { nodeMount } from "./support/mounts.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

const READS = ["session", "overview", "limiter?name=api", "breakers", "control", "log", "redis"];

const ALL: readonly ActionName[] = [
  "block",
  "unblock",
  "reset",
  "forget",
  "setOverride",
  "unsetOverride",
  "addToDenyList",
  "removeFromDenyList",
];

describe("permitted actions", () => {
  const actions: Readonly<Record<ActionName, object>> = {
    block: { limiter: "api", subject: { default: "ann" }, forMs: 60_000 },
    unblock: { limiter: "api", subject: { default: "ann" } },
    reset: { limiter: "api", subject: { default: "ann" } },
    forget: { limiter: "api", subject: { default: "ann" } },
    setOverride: { limiter: "api", shadow: true, forMs: 60_000 },
    unsetOverride: { limiter: "api" },
    addToDenyList: { network: "203.0.113.9", forMs: 60_000 },
    removeFromDenyList: { network: "203.0.113.9" },
    breaker: { breaker: "bank", target: "eu", order: "open" },
  };

  test.each<[string, Permission, readonly ActionName[]]>([
    ["read", "read", []],
    ["none", { by: "eve", actions: [] }, []],
    ["all", { by: "eve", actions: "all" }, [...ALL, "breaker"]],
    ["some", { by: "eve", actions: ["reset", "addToDenyList"] }, ["reset", "addToDenyList"]],
    [
      "all, of some limiters",
      { by: "eve", actions: "all", limiters: (name) => name !== "secret" },
      ["block", "unblock", "reset", "setOverride", "unsetOverride", "breaker"],
    ],
  ])("with %s, only those are listed, previewed and performed", async (_, permission, allowed) => {
    const fleet = await createFleetWithUsage(own.client);
    const breaker = createBreaker({ name: "bank", store: fleet.store });
    onTestFinished(() => breaker.close());
    await fleet.report();
    const page = await nodeMount.mount({
      store: fleet.store,
      authorize: () => permission,
      createBreaker,
    });
    const session = (await api(page, "session")).json;
    expect(session.actions).toEqual(allowed);
    for (const [kind, fields] of Object.entries(actions)) {
      const action = { kind, ...fields };
      const may = allowed.includes(kind as ActionName);
      const preview = await api(page, "preview", { action });
      expect([kind, preview.status]).toEqual([kind, may ? 200 : 403]);
      const { token = "any" } = preview.json;
      const done = await api(page, "act", { action, reason: "r", token });
      expect([kind, done.status]).toEqual([kind, may ? 200 : 403]);
    }
  });
});

describe("a hidden limiter", () => {
  const authorize = (): Permission => ({
    by: "eve",
    actions: "all",
    limiters: (name) => name !== "secret",
  });

  async function seedHidden() {
    const fleet = await createFleetWithUsage(own.client);
    const admin = createAdmin(fleet.store);
    const limiter = { name: "secret", limits: THREE_AN_HOUR };
    await admin.block(limiter, "bob", "1h", { by: "root", reason: "hushed" });
    await admin.setOverride({ limiter: "secret", shadow: true }, { by: "root", reason: "hushed" });
    await admin.setOverride({ limiter: "secretly-gone", shadow: true });
    const breaker = createBreaker({ name: "secret", store: fleet.store });
    onTestFinished(() => breaker.close());
    await fleet.report();
    const page = await nodeMount.mount({ store: fleet.store, authorize, createBreaker });
    return { fleet, page };
  }

  test("hides all findings of the doctor, which does not know visitors", async () => {
    const fleet = await createFleetWithUsage(own.client);
    const finding = { status: "warning", message: "secret has 2 policies" };
    const doctor = async () => ({ checks: [{ findings: [finding] }] });
    const page = await nodeMount.mount({ store: fleet.store, authorize, doctor });
    expect((await api(page, "session")).json.hasDoctor).toBe(false);
    expect((await api(page, "redis")).json.findings).toEqual([]);
  });

  test("appears in no view and in no total", async () => {
    const { page } = await seedHidden();
    for (const read of READS.filter((one) => one !== "session")) {
      const { status, body } = await api(page, read);
      expect([read, status]).toEqual([read, 200]);
      expect([read, body.toString().replaceAll("secretly-gone", "")]).toEqual([
        read,
        expect.not.stringMatching(/"secret"|hushed/),
      ]);
    }
    const { json } = await api(page, "overview");
    expect(json).toMatchObject({ totals: { allowed: 3, denied: 2 }, others: null });
    // No process has the visible one.
    expect(json.active).toMatchObject({ overrides: 0, blocks: expect.any(Number) });
    const subject = await api(page, "subject", { subject: "bob", kind: "text" });
    expect(subject.body.toString()).not.toMatch(/"secret"|hushed/);
    expect(subject.json.limiters).toHaveLength(1);
  });

  test("is in no overview of a visitor that follows one of a visitor who may see it", async () => {
    const fleet = await createFleetWithUsage(own.client);
    const page = await nodeMount.mount({
      store: fleet.store,
      authorize: ({ headers }) => ({
        by: "eve",
        actions: [],
        limiters: (name: string) => name === headers.cookie,
      }),
    });
    for (const cookie of ["api", "secret", "none", "api"]) {
      const { json } = await api(page, "overview", undefined, { cookie });
      const names = json.limiters.map(({ name }: { name: string }) => name);
      expect(names).toEqual(cookie === "none" ? [] : [cookie]);
    }
  });

  test("is not named as the one that a visible limiter extends", async () => {
    const fleet = createFleet(own.client);
    const secret = fleet.make("secret", THREE_AN_HOUR);
    const search = createLimiter({
      name: "search",
      limits: fixedWindow({ limit: 2, window: "1m" }),
      extends: secret,
    });
    onTestFinished(() => search.close());
    await search.consume("ann");
    await fleet.report();
    const views = ["limiter?name=search", ...READS.filter((one) => !one.startsWith("limiter"))];
    const mount = (permission: Permission) =>
      nodeMount.mount({ store: fleet.store, authorize: () => permission });
    const whole = await mount("read");
    expect((await api(whole, "limiter?name=search")).json.policies).toMatchObject([
      { extends: "secret" },
    ]);
    const page = await mount(authorize());
    for (const view of views) {
      const { status, body } = await api(page, view);
      expect([view, status]).toEqual([view, 200]);
      expect([view, body.toString()]).toEqual([view, expect.not.stringContaining("secret")]);
    }
    for (const query of [
      { subject: "ann", kind: "text" },
      { subject: "203.0.113.7", kind: "address" },
    ]) {
      expect((await api(page, "subject", query)).body.toString()).not.toContain("secret");
    }
    const action = { kind: "reset", limiter: "search", subject: { default: "ann" } };
    const preview = await api(page, "preview", { action });
    expect([preview.status, preview.body.toString()]).toEqual([
      200,
      expect.not.stringContaining("secret"),
    ]);
  });

  test("gives the same 404 as a limiter that does not exist", async () => {
    const { page } = await seedHidden();
    const both = async (path: (name: string) => ReturnType<typeof api>) => {
      const [hidden, none] = [await path("secret"), await path("none")];
      expect([hidden.status, hidden.body]).toEqual([404, none.body]);
    };
    await both((name) => api(page, `limiter?name=${name}`));
    await both((limiter) => api(page, "subject", { subject: "ann", kind: "text", limiter }));
    const subject = { default: "ann" };
    for (const write of ["preview", "act"]) {
      for (const fields of [
        { kind: "reset", subject },
        { kind: "block", subject, forMs: 60_000 },
        { kind: "unblock", subject },
        { kind: "setOverride", shadow: true, forMs: null },
      ]) {
        await both((limiter) =>
          api(page, write, { action: { limiter, ...fields }, reason: "r", token: "t" }),
        );
      }
      await both((limiter) =>
        api(page, write, { action: { kind: "unsetOverride", limiter }, reason: "r", token: "t" }),
      );
      // Which actions are allowed does not depend on the limiter.
      for (const limiter of ["secret", "none", "api"]) {
        const action = { kind: "forget", limiter, subject };
        expect((await api(page, write, { action, reason: "r", token: "t" })).status).toBe(403);
      }
      await both((breaker) => {
        const action = { kind: "breaker", breaker, target: "eu", order: "open" };
        return api(page, write, { action, reason: "r", token: "t" });
      });
    }
  });
});
