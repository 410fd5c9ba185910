import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Client } from "./client.ts";
import type { GuardOptions } from "./guard-options.ts";
import { createHttpGuard } from "./http-guard.ts";
import { byHeader, byIp, combineKeys } from "./keys.ts";
import { byTier } from "./request-limits.ts";

const client: Client = { address: "203.0.113.7", peer: "203.0.113.7", isDisconnected: () => false };

const limits = [
  fixedWindow({ limit: 2, window: "1d", block: "1h", name: "pair", per: "pair" }),
  fixedWindow({ limit: 9, window: "1d", name: "account", per: "account" }),
  fixedWindow({ limit: 9, window: "1d", name: "ip", per: "ip" }),
];
const account = byHeader("account");
const options = { limits, key: { pair: combineKeys(byIp(), account), account } };

function login(more: Partial<GuardOptions<Request>>) {
  return createHttpGuard<Request>("rateLimit", { ...options, ...more } as GuardOptions<Request>);
}

interface Request {
  readonly headers: Record<string, string>;
}

function requestOf(name: string): Request {
  return { headers: { account: name } };
}

describe("resetClient", () => {
  test("resetClient deletes the usage and blocks of the client in the configured dimensions, and of no other client", async () => {
    const guard = login({ resetDimensions: ["pair"] });
    for (const name of ["ada", "bob"]) {
      await guard.check(requestOf(name), client);
      await guard.check(requestOf(name), client);
      expect(await guard.check(requestOf(name), client)).toMatchObject({ kind: "denied" });
    }
    const good = requestOf("ada");
    await guard.check(good, client);
    expect(await guard.resetClient(good)).toBe(true);
    const next = requestOf("ada");
    expect(await guard.check(next, client)).toMatchObject({ kind: "allowed" });
    const left = guard
      .decisionOf(next)
      ?.decision.limits.map(({ name, remaining }) => [name, remaining]);
    expect(left).toEqual([
      ["pair", 1],
      ["account", 6],
      ["ip", 4],
    ]);
    expect(await guard.check(requestOf("bob"), client)).toMatchObject({ kind: "denied" });
  });

  test("resetClient does nothing for a request that was not counted in these dimensions", async () => {
    const skipped = login({ resetDimensions: ["pair"], skip: () => true });
    const request = requestOf("ada");
    await skipped.check(request, client);
    expect(await skipped.resetClient(request)).toBe(false);
    const guard = login({ resetDimensions: ["pair"], missingKey: "skip" });
    const nameless = requestOf("");
    await guard.check(nameless, client);
    expect(guard.decisionOf(nameless)?.subject).toMatchObject({ ip: "203.0.113.7" });
    expect(await guard.resetClient(nameless)).toBe(false);
    expect(await guard.resetClient({})).toBe(false);
  });

  test("resetClient resets the limiter of the request's tier", async () => {
    const one = fixedWindow({ limit: 1, window: "1d" });
    const tiers = byTier({ a: one, b: one }, (r: Request) => r.headers["account"] as "a");
    const guard = createHttpGuard<Request>("rateLimit", {
      limits: tiers,
      resetDimensions: ["default"],
    });
    for (const name of ["a", "b"]) await guard.check(requestOf(name), client);
    const again = requestOf("a");
    await guard.check(again, client);
    expect(await guard.resetClient(again)).toBe(true);
    expect(await guard.check(requestOf("a"), client)).toMatchObject({ kind: "allowed" });
    expect(await guard.check(requestOf("b"), client)).toMatchObject({ kind: "denied" });
  });

  test("resetClient needs the option resetDimensions and an open limiter", async () => {
    const without = login({});
    await expect(without.resetClient(requestOf("ada"))).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("resetClient(request) needs the option resetDimensions"),
    });
    const guard = login({ resetDimensions: ["pair"] });
    const request = requestOf("ada");
    await guard.check(request, client);
    await guard.close();
    await expect(guard.resetClient(request)).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
  });

  test.each([
    ["pair", 'resetDimensions must be a list of dimensions, got "pair"'],
    [[], "resetDimensions must be a list of dimensions, got []"],
    [[""], 'resetDimensions must be a list of dimensions, got [""]'],
    [[7], "resetDimensions must be a list of dimensions, got [7]"],
    [
      ["pair", "user"],
      'resetDimensions has "user", but the limits count per "pair", "account", "ip", "global"',
    ],
    [["global"], "resetDimensions would reset all clients at once"],
  ])("resetDimensions rejects %j", (resetDimensions, message) => {
    const all = fixedWindow({ limit: 9, window: "1d", name: "all", per: "global" });
    const wrong = () => login({ limits: [...limits, all], resetDimensions } as never);
    expect(wrong).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining(`rateLimit: ${message}`),
      }),
    );
  });

  test("resetClient works with a limiter that was passed in", async () => {
    const limiter = createLimiter({ limits: fixedWindow({ limit: 1, window: "1d" }) });
    const guard = createHttpGuard("rateLimit", { limiter, resetDimensions: ["default"] });
    const request = requestOf("ada");
    await guard.check(request, client);
    expect(await guard.resetClient(request)).toBe(true);
    expect(await limiter.peek("203.0.113.7")).toMatchObject({ allowed: true });
  });
});
