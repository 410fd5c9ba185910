import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import type { Decision } from "../decision.ts";
import { createLimiter } from "../limiter.ts";
import type { Policy } from "../policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import { answerTo, refuseMissing } from "./answer.ts";
import type { HeadersOption } from "./headers.ts";
import { readHeadersOption } from "./headers.ts";
import type { Verdict } from "./verdict.ts";

const NOW = 1_800_000_000_250;

/** The decision on the last of some requests of given costs, all at once. */
async function decide(limits: Policy, ...costs: readonly number[]): Promise<Decision> {
  const limiter = createLimiter({ name: "a", limits, store: memoryStore({ clock: () => NOW }) });
  let decision: Decision | undefined;
  for (const cost of costs) decision = await limiter.consume("x", { cost });
  return decision as Decision;
}

function answer(decisions: readonly Decision[], headers?: HeadersOption): Verdict {
  return answerTo(decisions, readHeadersOption(headers), NOW);
}

function headersOf(verdict: Verdict): Record<string, string> {
  if (!("headers" in verdict)) throw new Error(`${verdict.kind} has no headers`);
  const names = verdict.headers.map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
  return Object.fromEntries(verdict.headers);
}

const hourly = fixedWindow({ limit: 100, window: "1h", name: "hourly" });
const burst = fixedWindow({ limit: 4, window: "10s", name: "burst" });

describe("an allowed request", () => {
  test("is told every limit, and the numbers of the one that binds", async () => {
    const decision = await decide([hourly, burst], 3);
    const verdict = answer([decision]);
    expect(verdict.kind).toBe("allowed");
    expect(verdict).toMatchObject({ decision });
    expect(verdict).not.toHaveProperty("rejection");
    expect(headersOf(verdict)).toEqual({
      "X-RateLimit-Limit": "4",
      "X-RateLimit-Remaining": "1",
      "X-RateLimit-Reset": "10",
      "RateLimit-Policy": '"hourly";q=100;w=3600, "burst";q=4;w=10',
      RateLimit: '"hourly";r=97;t=3600, "burst";r=1;t=10',
    });
  });

  test("is not shown the loosest of several limits, in whatever order they stand", async () => {
    for (const limits of [
      [hourly, burst],
      [burst, hourly],
    ]) {
      const headers = headersOf(answer([await decide(limits, 1)]));
      expect(headers["X-RateLimit-Limit"]).toBe("4");
      expect(headers["X-RateLimit-Remaining"]).toBe("3");
    }
  });

  test.each<[HeadersOption, readonly string[]]>([
    [
      true,
      [
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "RateLimit-Policy",
        "RateLimit",
      ],
    ],
    [{ legacy: false }, ["RateLimit-Policy", "RateLimit"]],
    [{ standard: false }, ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]],
    [false, []],
  ])("with headers %j carries %j", async (option, names) => {
    expect(Object.keys(headersOf(answer([await decide(burst, 1)], option)))).toEqual(names);
  });

  test("is told the reset from the epoch when that is asked for", async () => {
    const headers = headersOf(answer([await decide(burst, 1)], { legacyReset: "epoch" }));
    // 10 s after 250 ms past a second, rounded up.
    expect(headers["X-RateLimit-Reset"]).toBe("1800000011");
  });
});

describe("a denied request", () => {
  test("is told when to come back, and which limits denied", async () => {
    const decision = await decide([hourly, burst], 4, 1);
    const verdict = answer([decision]);
    expect(verdict).toMatchObject({
      kind: "denied",
      decision,
      rejection: { status: 429, contentType: "application/problem+json" },
    });
    expect(headersOf(verdict)).toMatchObject({
      "Retry-After": "10",
      "Cache-Control": "no-store",
      "X-RateLimit-Remaining": "0",
    });
    const { body } = (verdict as Verdict & { kind: "denied" }).rejection;
    expect(JSON.parse(body)).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Too Many Requests",
      status: 429,
      "violated-policies": ["burst"],
    });
  });

  test("is told so without any other header, if that is the option", async () => {
    const verdict = answer([await decide(burst, 4, 1)], false);
    expect(headersOf(verdict)).toEqual({ "Retry-After": "10", "Cache-Control": "no-store" });
  });

  test("is not told to come back when its cost can never pass", async () => {
    const verdict = answer([await decide(burst, 5)]);
    expect(headersOf(verdict)).not.toHaveProperty("Retry-After");
    expect(headersOf(verdict)).toMatchObject({
      "Cache-Control": "no-store",
      "X-RateLimit-Limit": "4",
      "X-RateLimit-Remaining": "4",
    });
    expect(JSON.stringify(headersOf(verdict))).not.toMatch(/Infinity|NaN|null|undefined/);
  });

  test("is not told to come back before the longest of its waits is over", async () => {
    const log = slidingLog({ limit: 1, window: "1m", name: "log" });
    const headers = headersOf(answer([await decide([burst, log], 1, 4)]));
    expect(headers).not.toHaveProperty("Retry-After");
    expect(headersOf(answer([await decide([burst, log], 1, 1)]))["Retry-After"]).toBe("60");
  });
});

describe("a request that several limiters decide", () => {
  test("is told the limits of all, and the numbers of the tightest", async () => {
    const decisions = [await decide(hourly, 1), await decide(burst, 1)];
    for (const all of [decisions, decisions.toReversed()]) {
      const verdict = answer(all);
      expect(verdict).toMatchObject({ kind: "allowed", decision: decisions[1] });
      const headers = headersOf(verdict);
      expect(headers["X-RateLimit-Limit"]).toBe("4");
      expect(headers["RateLimit-Policy"]).toContain('"hourly";q=100;w=3600');
      expect(headers["RateLimit-Policy"]).toContain('"burst";q=4;w=10');
      expect(headers["RateLimit"]).toContain('"hourly";r=99;t=3600');
      expect(headers["RateLimit"]).toContain('"burst";r=3;t=10');
    }
  });

  test("is denied by one, and named only the limits that denied", async () => {
    const decisions = [await decide(burst, 4), await decide(hourly, 100, 1)];
    const verdict = answer(decisions) as Verdict & { kind: "denied" };
    expect(verdict).toMatchObject({ kind: "denied", decision: decisions[1] });
    expect(JSON.parse(verdict.rejection.body)["violated-policies"]).toEqual(["hourly"]);
    expect(headersOf(verdict)).toMatchObject({ "Retry-After": "3600", "X-RateLimit-Limit": "100" });
  });
});

test("a request without a key is refused with a problem that no cache keeps", () => {
  const verdict = refuseMissing("apiKey") as Verdict & { kind: "refused" };
  expect(verdict.kind).toBe("refused");
  expect(headersOf(verdict)).toEqual({ "Cache-Control": "no-store" });
  expect(verdict.rejection).toMatchObject({ status: 400, contentType: "application/problem+json" });
  expect(JSON.parse(verdict.rejection.body)).toMatchObject({ status: 400 });
  expect(verdict.rejection.body).toContain("apiKey");
});
