import { describe, expect, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { ANN, seedDenied } from "./support/seed-denied.ts";
import { api } from "./support/send-request.ts";

const own = useOwnRedis();

describe("an action is refused", () => {
  test.each([undefined, "", "  ", "x".repeat(1_001), 7])("with the reason %j", async (reason) => {
    const { page, operator: admin } = await seedDenied(own.client);
    const action = { kind: "reset", ...ANN };
    const { token } = (await api(page, "preview", { action })).json;
    expect((await api(page, "act", { action, reason, token })).status).toBe(400);
    expect((await admin.log()).entries).toEqual([]);
  });

  test("after sixty actions of the same visitor in a minute", async () => {
    const names = { by: "eve" };
    const authorize = () => ({ ...names, actions: "all" as const });
    const { page } = await seedDenied(own.client, { authorize });
    const body = { action: { kind: "reset", ...ANN }, reason: "r", token: "no" };
    const statuses = await Promise.all(
      Array.from({ length: 61 }, async () => (await api(page, "act", body)).status),
    );
    expect(statuses.filter((status) => status === 409)).toHaveLength(60);
    const refused = await api(page, "act", body);
    expect([refused.status, refused.json.error.code]).toEqual([429, "TOO_MANY_ACTIONS"]);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(60);
    names.by = "ann";
    expect((await api(page, "act", body)).status).toBe(409);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["a list", []],
    ["another kind", { kind: "drop", ...ANN }],
    ["a kind of Object", { kind: "toString" }],
    ["no subject", { kind: "reset", limiter: "api" }],
    ["an empty subject", { kind: "reset", limiter: "api", subject: {} }],
    ["a subject of numbers", { kind: "reset", limiter: "api", subject: { default: 7 } }],
    ["another dimension", { kind: "reset", limiter: "api", subject: { user: "ann" } }],
    ["no time", { kind: "block", ...ANN }],
    ["a time of zero", { kind: "block", ...ANN, forMs: 0 }],
    ["half a millisecond", { kind: "block", ...ANN, forMs: 1_000.5 }],
    ["a thousand years", { kind: "block", ...ANN, forMs: 3.2e13 }],
    ["a block for ever", { kind: "block", ...ANN, forMs: null }],
    ["more fields", { kind: "reset", ...ANN, dryRun: false }],
    ["no change", { kind: "setOverride", limiter: "api", forMs: null }],
    [
      "negative limits",
      { kind: "setOverride", ...ANN, limits: { "3-per-1h": { limit: -1 } }, forMs: null },
    ],
    ["no network", { kind: "addToDenyList", network: "everybody", forMs: null }],
    ["half of the internet", { kind: "addToDenyList", network: "0.0.0.0/1", forMs: null }],
    ["a long subject", { kind: "reset", limiter: "api", subject: { default: "x".repeat(1_001) } }],
  ])("with %s", async (_, action) => {
    const { page } = await seedDenied(own.client);
    const { status, json } = await api(page, "preview", { action });
    expect([status, typeof json.error.code, typeof json.error.message]).toEqual([
      400,
      "string",
      "string",
    ]);
  });

  test("for an unknown limiter", async () => {
    const { page } = await seedDenied(own.client);
    for (const kind of ["reset", "setOverride"]) {
      const action =
        kind === "reset"
          ? { kind, limiter: "none", subject: { default: "ann" } }
          : { kind, limiter: "none", shadow: true, forMs: null };
      const { status, json } = await api(page, "preview", { action });
      expect([status, json.error.code]).toEqual([404, "UNKNOWN_LIMITER"]);
    }
  });
});
