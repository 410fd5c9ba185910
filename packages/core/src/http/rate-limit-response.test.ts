import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import type { Decision } from "../common/decision.ts";
import type { Policy } from "../common/policy.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Verdict } from "./apply-verdict.ts";
import type { Header, HeadersOption } from "./headers.ts";
import { readHeadersOption } from "./headers.ts";
import { refuseMissingKey, toVerdict } from "./rate-limit-response.ts";

const NOW = 1_800_000_000_250;

/** The decision on the last of some requests of given costs, all at once. */
async function decide(limits: Policy, ...costs: readonly number[]): Promise<Decision> {
  const limiter = createLimiter({ name: "a", limits, store: memoryStore({ clock: () => NOW }) });
  let decision: Decision | undefined;
  for (const cost of costs) decision = await limiter.consume("x", { cost });
  return decision as Decision;
}

/** Decisions of limiters that all have the same option. */
function answer(decisions: readonly Decision[], headers?: HeadersOption): Verdict {
  return answerEach(...decisions.map((decision) => [decision, headers] as const));
}

/** Decisions of limiters that have an option each. */
function answerEach(
  ...reported: readonly (readonly [Decision, HeadersOption | undefined])[]
): Verdict {
  return toVerdict(
    reported.map(([decision, headers]) => ({ decision, headers: readHeadersOption(headers) })),
    NOW,
  );
}

function listOf(verdict: Verdict): readonly Header[] {
  if (!("headers" in verdict)) throw new Error(`${verdict.kind} has no headers`);
  const names = verdict.headers.map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
  return verdict.headers;
}

/** The headers of an answer that takes none off. */
function headersOf(verdict: Verdict): Record<string, string> {
  const set = listOf(verdict).map(([name, value]) => {
    if (value === undefined) throw new Error(`${name} is taken off`);
    return [name, value] as const;
  });
  return Object.fromEntries(set);
}

/** The names of the headers that an answer takes off. */
function takenOff(verdict: Verdict): string[] {
  return listOf(verdict).flatMap(([name, value]) => (value === undefined ? [name] : []));
}

const hourly = fixedWindow({ limit: 100, window: "1h", name: "hourly" });
const burst = fixedWindow({ limit: 4, window: "10s", name: "burst" });

describe("headers of an allowed request", () => {
  test("an allowed request gets RateLimit and RateLimit-Policy for every limit, and X-RateLimit for the binding one", async () => {
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

  test("X-RateLimit shows the tightest of several limits, whatever their order", async () => {
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
    [
      { legacy: "ratelimit" },
      ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy"],
    ],
    [
      { legacy: "ratelimit", standard: true },
      [
        "RateLimit-Limit",
        "RateLimit-Remaining",
        "RateLimit-Reset",
        "RateLimit-Policy",
        "RateLimit",
      ],
    ],
    [false, []],
  ])("an allowed request with headers %j gets %j", async (option, names) => {
    expect(Object.keys(headersOf(answer([await decide(burst, 1)], option)))).toEqual(names);
  });

  test("X-RateLimit-Reset counts from the Unix epoch if the option says so", async () => {
    const headers = headersOf(answer([await decide(burst, 1)], { reset: "epoch" }));
    // 10 s after 250 ms past a second, rounded up.
    expect(headers["X-RateLimit-Reset"]).toBe("1800000011");
  });
});

describe("headers of a denied request", () => {
  test("a denied request gets Retry-After and the names of the limits that denied it", async () => {
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

  test("a denied request still gets Retry-After with headers: false", async () => {
    const verdict = answer([await decide(burst, 4, 1)], false);
    expect(headersOf(verdict)).toEqual({ "Retry-After": "10", "Cache-Control": "no-store" });
  });

  test("a denied request gets no Retry-After if its cost exceeds the limit", async () => {
    const verdict = answer([await decide(burst, 5)]);
    expect(headersOf(verdict)).not.toHaveProperty("Retry-After");
    expect(headersOf(verdict)).toMatchObject({
      "Cache-Control": "no-store",
      "X-RateLimit-Limit": "4",
      "X-RateLimit-Remaining": "4",
    });
    expect(JSON.stringify(headersOf(verdict))).not.toMatch(/Infinity|NaN|null|undefined/);
  });

  test("Retry-After is the longest wait of all limits that denied", async () => {
    const log = slidingLog({ limit: 1, window: "1m", name: "log" });
    const headers = headersOf(answer([await decide([burst, log], 1, 4)]));
    expect(headers).not.toHaveProperty("Retry-After");
    expect(headersOf(answer([await decide([burst, log], 1, 1)]))["Retry-After"]).toBe("60");
  });
});

test.each([
  ["allowed", 1],
  ["denied", 3],
])("a request that waited gets Server-Timing, whether it was %s", async (kind, cost) => {
  const decision = await decide(burst, 2, cost);
  const reported = [{ decision, headers: readHeadersOption(undefined) }];
  const verdict = toVerdict(reported, NOW, 1_234.56);
  expect(verdict.kind).toBe(kind);
  expect(listOf(verdict)).toContainEqual(["Server-Timing", "headgate;dur=1234.6", "append"]);
  expect(headersOf(toVerdict(reported, NOW))).not.toHaveProperty("Server-Timing");
});

describe("headers of a request that several limiters decide", () => {
  test("a request with two limiters gets the limits of both, and X-RateLimit of the tightest", async () => {
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

  test("the problem body names only the limits that denied", async () => {
    const decisions = [await decide(burst, 4), await decide(hourly, 100, 1)];
    const verdict = answer(decisions) as Verdict & { kind: "denied" };
    expect(verdict).toMatchObject({ kind: "denied", decision: decisions[1] });
    expect(JSON.parse(verdict.rejection.body)["violated-policies"]).toEqual(["hourly"]);
    expect(headersOf(verdict)).toMatchObject({ "Retry-After": "3600", "X-RateLimit-Limit": "100" });
  });
});

describe("headers of draft 6", () => {
  test("draft 6 lists every quota in RateLimit-Policy, and the binding limit in RateLimit-*", async () => {
    const short = fixedWindow({ limit: 9, window: 500 });
    const decision = await decide([hourly, burst, short], 3);
    expect(headersOf(answer([decision], { legacy: "ratelimit" }))).toEqual({
      "RateLimit-Limit": "4",
      "RateLimit-Remaining": "1",
      "RateLimit-Reset": "10",
      "RateLimit-Policy": "100;w=3600, 4;w=10, 9",
    });
  });

  test("draft 6 lists the quotas of several limiters in one RateLimit-Policy", async () => {
    const each = [await decide(hourly, 1), await decide(burst, 3)];
    expect(headersOf(answer(each, { legacy: "ratelimit" }))).toEqual({
      "RateLimit-Limit": "4",
      "RateLimit-Remaining": "1",
      "RateLimit-Reset": "10",
      "RateLimit-Policy": "100;w=3600, 4;w=10",
    });
  });

  test("draft 6 headers can be sent together with X-RateLimit headers of another limiter", async () => {
    const verdict = answerEach(
      [await decide(hourly, 1), undefined],
      [await decide(burst, 3), { legacy: "ratelimit", reset: "epoch-ms" }],
    );
    expect(headersOf(verdict)).toEqual({
      "X-RateLimit-Limit": "100",
      "X-RateLimit-Remaining": "99",
      "X-RateLimit-Reset": "3600",
      "RateLimit-Limit": "4",
      "RateLimit-Remaining": "1",
      "RateLimit-Reset": String(NOW + 10_000),
      "RateLimit-Policy": '"hourly";q=100;w=3600',
      RateLimit: '"hourly";r=99;t=3600',
    });
  });

  test("a denial removes draft 6 headers of another limiter that show remaining units", async () => {
    const verdict = answerEach(
      [await decide(hourly, 1), { standard: false }],
      [await decide(burst, 4, 1), { legacy: "ratelimit" }],
    );
    expect(Object.fromEntries(listOf(verdict))).toStrictEqual({
      "X-RateLimit-Limit": undefined,
      "X-RateLimit-Remaining": undefined,
      "X-RateLimit-Reset": undefined,
      "RateLimit-Limit": "4",
      "RateLimit-Remaining": "0",
      "RateLimit-Reset": "10",
      "RateLimit-Policy": "4;w=10",
      "Retry-After": "10",
      "Cache-Control": "no-store",
    });
  });
});

test("a denial has no Retry-After if the limiter that denied turned it off", async () => {
  const [allowed, denial] = [await decide(hourly, 1), await decide(burst, 4, 1)];
  const off = headersOf(answerEach([allowed, true], [denial, { retryAfter: false }]));
  expect(off).not.toHaveProperty("Retry-After");
  expect(off["Cache-Control"]).toBe("no-store");
  const on = headersOf(answerEach([allowed, { retryAfter: false }], [denial, true]));
  expect(on["Retry-After"]).toBe("10");
});

describe("a limiter with headers: false", () => {
  const LEGACY = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
  const HOURLY = {
    "X-RateLimit-Limit": "100",
    "X-RateLimit-Remaining": "99",
    "X-RateLimit-Reset": "3600",
    "RateLimit-Policy": '"hourly";q=100;w=3600',
    RateLimit: '"hourly";r=99;t=3600',
  };

  test("a limiter with headers: false is left out of all headers, even if it binds", async () => {
    const shown = [await decide(hourly, 1), undefined] as const;
    const hidden = [await decide(burst, 3), false] as const;
    for (const reported of [
      [shown, hidden],
      [hidden, shown],
    ]) {
      const verdict = answerEach(...reported);
      expect(verdict).toMatchObject({ kind: "allowed", decision: hidden[0] });
      expect(headersOf(verdict)).toEqual(HOURLY);
    }
  });

  test("headers show the tightest limiter among those with headers", async () => {
    const daily = fixedWindow({ limit: 50, window: "24h", name: "daily" });
    const verdict = answerEach(
      [await decide(hourly, 1), true],
      [await decide(burst, 3), false],
      [await decide(daily, 10), { reset: "epoch" }],
    );
    const headers = headersOf(verdict);
    expect(headers["X-RateLimit-Limit"]).toBe("50");
    expect(headers["X-RateLimit-Remaining"]).toBe("40");
    expect(Number(headers["X-RateLimit-Reset"])).toBeGreaterThan(NOW / 1_000);
    expect(headers["RateLimit-Policy"]).toBe('"hourly";q=100;w=3600, "daily";q=50;w=86400');
    expect(headers["RateLimit"]).toMatch(/^"hourly";r=99;t=3600, "daily";r=40;t=\d+$/);
  });

  test("headers: false hides only the limiter that has the option", async () => {
    const shown = await decide(hourly, 1);
    const tight = await decide(burst, 3);
    const unlisted = headersOf(answerEach([shown, true], [tight, { standard: false }]));
    expect(unlisted).toEqual({
      ...HOURLY,
      "X-RateLimit-Limit": "4",
      "X-RateLimit-Remaining": "1",
      "X-RateLimit-Reset": "10",
    });
    const unnumbered = headersOf(answerEach([shown, true], [tight, { legacy: false }]));
    expect(unnumbered).toEqual({
      ...HOURLY,
      "RateLimit-Policy": '"hourly";q=100;w=3600, "burst";q=4;w=10',
      RateLimit: '"hourly";r=99;t=3600, "burst";r=1;t=10',
    });
  });

  test("a denial with headers: false removes the headers of another limiter that show remaining units", async () => {
    const shown = await decide(hourly, 1);
    const denial = await decide(burst, 4, 1);
    const verdict = answerEach([shown, true], [denial, false]);
    expect(verdict).toMatchObject({ kind: "denied", decision: denial });
    expect(takenOff(verdict)).toEqual(LEGACY);
    expect(Object.fromEntries(listOf(verdict))).toStrictEqual({
      ...Object.fromEntries(LEGACY.map((name) => [name, undefined])),
      "RateLimit-Policy": HOURLY["RateLimit-Policy"],
      RateLimit: HOURLY.RateLimit,
      "Retry-After": "10",
      "Cache-Control": "no-store",
    });
  });

  test("a denial with headers: false removes nothing if no header was set", async () => {
    const allowed = await decide(hourly, 1);
    const denial = await decide(burst, 4, 1);
    const verdict = answerEach([allowed, false], [denial, false]);
    expect(listOf(verdict)).toEqual([
      ["Retry-After", "10"],
      ["Cache-Control", "no-store"],
    ]);
  });

  test("a limiter with headers: false removes nothing if a visible limiter denies", async () => {
    const hidden = await decide(hourly, 1);
    const denial = await decide(burst, 4, 1);
    const verdict = answerEach([hidden, false], [denial, true]);
    expect(headersOf(verdict)).toEqual({
      "X-RateLimit-Limit": "4",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": "10",
      "RateLimit-Policy": '"burst";q=4;w=10',
      RateLimit: '"burst";r=0;t=10',
      "Retry-After": "10",
      "Cache-Control": "no-store",
    });
  });
});

test("a request without its key is refused with status 400 and Cache-Control: no-store", () => {
  const verdict = refuseMissingKey("apiKey") as Verdict & { kind: "refused" };
  expect(verdict.kind).toBe("refused");
  expect(headersOf(verdict)).toEqual({ "Cache-Control": "no-store" });
  expect(verdict.rejection).toMatchObject({ status: 400, contentType: "application/problem+json" });
  expect(JSON.parse(verdict.rejection.body)).toMatchObject({ status: 400 });
  expect(verdict.rejection.body).toContain("apiKey");
});
