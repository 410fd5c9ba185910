import { validateHeaderValue } from "node:http";
import { fc, test } from "@fast-check/vitest";
import type { List } from "structured-headers";
import { parseList } from "structured-headers";
import { describe, expect } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { slidingWindow } from "../algorithms/sliding-window.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import type { Decision, LimitState } from "../common/decision.ts";
import type { HeadgateError } from "../common/errors.ts";
import type { Policy } from "../common/policy.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { HeadersOption, ResetUnit } from "./headers.ts";
import {
  formatLegacyHeaders,
  formatPolicyHeader,
  formatRateLimitHeader,
  formatRetryAfter,
  readHeadersOption,
} from "./headers.ts";

/** Printable ASCII, in which quotes and backslashes are no exception. */
const limitName = fc.string({
  unit: fc.oneof(
    fc.constantFrom('"', "\\", ";", ",", "=", " "),
    fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  ),
  minLength: 1,
  maxLength: 64,
});

const count = fc.integer({ min: 1, max: 1_000_000_000 });

const milliseconds = fc.oneof(
  fc.integer({ min: 1, max: 3_000 }),
  fc.integer({ min: 1, max: 1_000_000 }).map((seconds) => seconds * 1_000),
  fc.maxSafeNat().map((microseconds) => Math.floor(microseconds / 1_000)),
);

const limitState: fc.Arbitrary<LimitState> = fc.record({
  name: limitName,
  per: fc.constant("default"),
  limit: count,
  windowMs: milliseconds,
  allowed: fc.boolean(),
  remaining: fc.nat(1_000_000_000),
  overdrawn: fc.constant(0),
  retryAfterMs: milliseconds,
  resetAfterMs: milliseconds,
  refillAfterMs: milliseconds,
});

const COUNTED: LimitState = {
  name: "default",
  per: "default",
  limit: 10,
  windowMs: 60_000,
  allowed: false,
  remaining: 0,
  overdrawn: 0,
  retryAfterMs: 0,
  resetAfterMs: 0,
  refillAfterMs: 0,
};

function decisionOf(numbers: Partial<Decision>): Decision {
  return {
    allowed: false,
    limit: 10,
    remaining: 0,
    retryAfterMs: 0,
    resetAfterMs: 0,
    limits: [COUNTED],
    cost: 1,
    source: "store",
    degraded: false,
    shadow: false,
    blocked: false,
    overridden: false,
    wouldAllow: false,
    ...numbers,
  };
}

/** A list's items as names with plain parameters; whatever is not a string with integers does not parse. */
function itemsOf(value: string): [string, Record<string, number>][] {
  const list: List = parseList(value);
  return list.map(([name, parameters]) => {
    if (typeof name !== "string") throw new TypeError("a member is no string");
    for (const number of parameters.values()) {
      if (!Number.isInteger(number)) throw new TypeError("a parameter is no integer");
    }
    return [name, Object.fromEntries(parameters) as Record<string, number>];
  });
}

function isOff(seconds: number, milliseconds: number): boolean {
  return seconds * 1_000 < milliseconds || (seconds - 1) * 1_000 >= milliseconds;
}

function errorOf(make: () => unknown): HeadgateError {
  try {
    make();
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error("nothing was thrown");
}

describe("RateLimit-Policy", () => {
  test("RateLimit-Policy matches the draft's examples", () => {
    const limits = [
      { name: "burst", per: "ip", limit: 100, windowMs: 60_000 },
      { name: "daily", per: "ip", limit: 1_000, windowMs: 86_400_000 },
    ];
    expect(formatPolicyHeader(limits)).toBe('"burst";q=100;w=60, "daily";q=1000;w=86400');
  });

  test("RateLimit-Policy escapes only quotes and backslashes", () => {
    const limits = [{ name: 'a "b" \\ c;d,e=f', per: "ip", limit: 1, windowMs: 1_000 }];
    expect(formatPolicyHeader(limits)).toBe('"a \\"b\\" \\\\ c;d,e=f";q=1;w=1');
  });

  test.each([
    [1, undefined],
    [999, undefined],
    [1_000, 1],
    [1_001, 2],
    [1_999, 2],
    [60_000, 60],
  ])("RateLimit-Policy for a window of %i ms has w=%s", (windowMs, w) => {
    const [item] = itemsOf(formatPolicyHeader([{ name: "a", per: "ip", limit: 5, windowMs }]));
    expect(item).toEqual(["a", w === undefined ? { q: 5 } : { q: 5, w }]);
  });

  test.prop([fc.array(limitState, { minLength: 1, maxLength: 5 })])(
    "RateLimit-Policy lists name, quota and window of every limit in order, as an RFC 9651 list",
    (limits) => {
      const items = itemsOf(formatPolicyHeader(limits));
      expect(items.map(([name]) => name)).toEqual(limits.map(({ name }) => name));
      items.forEach(([, { q, w, ...more }], i) => {
        const { limit, windowMs } = limits[i] as LimitState;
        expect(more).toEqual({});
        expect(q).toBe(limit);
        expect(w === undefined).toBe(windowMs < 1_000);
        if (w !== undefined) expect(isOff(w, windowMs)).toBe(false);
      });
    },
  );
});

describe("RateLimit", () => {
  test("RateLimit matches the draft's examples", () => {
    const state = {
      per: "ip",
      limit: 100,
      windowMs: 60_000,
      allowed: true,
      overdrawn: 0,
      retryAfterMs: 0,
    };
    const limits = [
      { ...state, name: "default", remaining: 50, resetAfterMs: 60_000, refillAfterMs: 30_000 },
      { ...state, name: "unused", remaining: 100, resetAfterMs: 0, refillAfterMs: 0 },
    ];
    expect(formatRateLimitHeader(limits)).toBe('"default";r=50;t=30, "unused";r=100;t=0');
  });

  test.prop([fc.array(limitState, { minLength: 1, maxLength: 5 })])(
    "RateLimit lists the remaining units of every limit and the seconds until they grow, as an RFC 9651 list",
    (limits) => {
      const items = itemsOf(formatRateLimitHeader(limits));
      expect(items.map(([name]) => name)).toEqual(limits.map(({ name }) => name));
      items.forEach(([, { r, t, ...more }], i) => {
        const { remaining, refillAfterMs } = limits[i] as LimitState;
        expect(more).toEqual({});
        expect(r).toBe(remaining);
        expect(isOff(t as number, refillAfterMs)).toBe(false);
      });
    },
  );
});

describe("Retry-After", () => {
  test.each([
    [0, "0"],
    [1, "1"],
    [999, "1"],
    [1_000, "1"],
    [1_001, "2"],
    [59_999, "60"],
    [31_622_400_000, "31622400"],
  ])("Retry-After for %i ms is %s", (retryAfterMs, seconds) => {
    expect(formatRetryAfter(decisionOf({ retryAfterMs }))).toBe(seconds);
  });

  test("Retry-After is not sent if no wait is long enough", () => {
    expect(
      formatRetryAfter(decisionOf({ retryAfterMs: Number.POSITIVE_INFINITY })),
    ).toBeUndefined();
  });

  test.prop([milliseconds])(
    "Retry-After is never early, and late by less than a second",
    (retryAfterMs) => {
      const value = formatRetryAfter(decisionOf({ retryAfterMs })) as string;
      // RFC 9110 §10.2.3: delay-seconds is 1*DIGIT.
      expect(value).toMatch(/^\d+$/);
      expect(isOff(Number(value), retryAfterMs)).toBe(false);
    },
  );
});

describe("X-RateLimit-*", () => {
  const decision = decisionOf({ limit: 100, remaining: 7, resetAfterMs: 1_500 });

  test("X-RateLimit-* are the numbers of the decision", () => {
    expect(formatLegacyHeaders(decision, "x-ratelimit", "delta", 0)).toEqual([
      ["X-RateLimit-Limit", "100"],
      ["X-RateLimit-Remaining", "7"],
      ["X-RateLimit-Reset", "2"],
    ]);
  });

  test("X-RateLimit-Reset counts from the Unix epoch if the option says so", () => {
    const reset = formatLegacyHeaders(decision, "x-ratelimit", "epoch", 1_800_000_000_499.5).at(-1);
    expect(reset).toEqual(["X-RateLimit-Reset", "1800000002"]);
    const later = formatLegacyHeaders(decision, "x-ratelimit", "epoch", 1_800_000_000_500.5).at(-1);
    expect(later).toEqual(["X-RateLimit-Reset", "1800000003"]);
    const exact = formatLegacyHeaders(decision, "x-ratelimit", "epoch-ms", 1_800_000_000_499.5).at(
      -1,
    );
    expect(exact).toEqual(["X-RateLimit-Reset", "1800000002000"]);
  });

  test("X-RateLimit-* are not sent if nothing was counted or the option is false", () => {
    const uncounted = decisionOf({ limits: [] });
    expect(formatLegacyHeaders(uncounted, "x-ratelimit", "delta", 0)).toEqual([]);
    expect(formatLegacyHeaders(decision, false, "delta", 0)).toEqual([]);
  });

  test('legacy: "ratelimit" uses the header names of draft 6', () => {
    expect(formatLegacyHeaders(decision, "ratelimit", "delta", 0)).toEqual([
      ["RateLimit-Limit", "100"],
      ["RateLimit-Remaining", "7"],
      ["RateLimit-Reset", "2"],
    ]);
  });

  test.prop([fc.nat(31_622_400_000), fc.nat(4_000_000_000_000)])(
    "X-RateLimit-Reset is never before the actual reset",
    (resetAfterMs, nowMs) => {
      const used = decisionOf({ resetAfterMs });
      const reset = (unit: ResetUnit) =>
        Number(formatLegacyHeaders(used, "ratelimit", unit, nowMs).at(-1)?.[1]);
      expect(isOff(reset("delta"), resetAfterMs)).toBe(false);
      expect(isOff(reset("epoch"), nowMs + resetAfterMs)).toBe(false);
      expect(reset("epoch-ms")).toBe(nowMs + resetAfterMs);
    },
  );
});

/** All headers of one request under a policy, from a decision as it is really taken. */
async function headersUnder(limits: Policy, cost: number): Promise<string[]> {
  const limiter = createLimiter({ limits, store: memoryStore({ clock: () => 0 }), name: "a" });
  const decision = await limiter.consume("x", { cost });
  const retryAfter = formatRetryAfter(decision);
  return [
    formatPolicyHeader(decision.limits),
    formatRateLimitHeader(decision.limits),
    ...formatLegacyHeaders(decision, "x-ratelimit", "delta", 0).map(([, value]) => String(value)),
    ...formatLegacyHeaders(decision, "x-ratelimit", "epoch", 4_000_000_000_000).map(([, value]) =>
      String(value),
    ),
    ...(retryAfter === undefined ? [] : [retryAfter]),
  ];
}

describe("headers of real decisions", () => {
  const widest = 1_000_000_000;

  test.each<[string, Policy, number]>([
    ["the widest burst", gcra({ limit: 1, window: "366d", burst: widest }), widest],
    ["the widest bucket", tokenBucket({ capacity: widest, refill: 1, every: "366d" }), widest],
    ["the largest window", fixedWindow({ limit: widest, window: "366d" }), widest],
    ["the largest log", slidingLog({ limit: 1_000_000, window: "366d" }), 1_000_000],
    ["sixty buckets", slidingWindow({ limit: widest, window: "366d", buckets: 60 }), widest],
    ["a window of one ms", fixedWindow({ limit: 1, window: 1 }), 1],
  ])("the numbers of %s fit RFC 9651 integers of at most 15 digits", async (_, limits, cost) => {
    for (const value of await headersUnder(limits, cost)) {
      expect(value).not.toMatch(/\d{16}|NaN|Infinity|undefined|(^|=)-|\d[.e]\d/);
      validateHeaderValue("X-Any", value);
    }
    const [policy, remaining] = await headersUnder(limits, cost);
    expect(itemsOf(policy as string)).toHaveLength(1);
    expect(itemsOf(remaining as string)).toHaveLength(1);
  });

  test("a limit without a name is named after its quota and window", async () => {
    const [policy] = await headersUnder(gcra({ limit: 100, window: "1m" }), 1);
    expect(policy).toBe('"100-per-1m";q=100;w=60');
  });

  const anyName = fc.oneof(
    fc.string({ unit: "binary", maxLength: 70 }),
    fc.string({ unit: fc.constantFrom(...'a\r\n\0"\\,; \t\x7fé', "\u{1f4a7}"), maxLength: 8 }),
    limitName,
  );

  test.prop([anyName], { numRuns: 500 })(
    "the name of a limit cannot end a header or start another",
    async (name) => {
      const isPrintable = /^[ -~]{1,64}$/.test(name);
      const limits = gcra({ limit: 5, window: "1s", name });
      if (!isPrintable) {
        const error = errorOf(() => createLimiter({ limits }));
        expect(error.code).toBe("HEADGATE_INVALID_LIMIT");
        return;
      }
      const [policy, remaining, ...rest] = await headersUnder(limits, 1);
      for (const value of [policy, remaining, ...rest]) {
        validateHeaderValue("X-Any", value as string);
      }
      expect(itemsOf(policy as string)).toEqual([[name, { q: 5, w: 1 }]]);
      expect(itemsOf(remaining as string)).toEqual([[name, { r: 4, t: 1 }]]);
    },
  );
});

describe("the option headers", () => {
  const all = { legacy: "x-ratelimit", standard: true, reset: "delta", retryAfter: true };
  const draft6 = { ...all, legacy: "ratelimit", standard: false };

  test.each<[HeadersOption | undefined, object]>([
    [undefined, all],
    [true, all],
    [{}, all],
    [{ legacy: undefined, standard: undefined, reset: undefined, retryAfter: undefined }, all],
    [false, { ...all, legacy: false, standard: false }],
    [{ legacy: false }, { ...all, legacy: false }],
    [{ legacy: true }, all],
    [{ legacy: "x-ratelimit" }, all],
    [{ legacy: "ratelimit" }, draft6],
    [
      { legacy: "ratelimit", standard: true },
      { ...draft6, standard: true },
    ],
    [{ standard: false }, { ...all, standard: false }],
    [{ reset: "epoch" }, { ...all, reset: "epoch" }],
    [{ reset: "epoch-ms" }, { ...all, reset: "epoch-ms" }],
    [{ retryAfter: false }, { ...all, retryAfter: false }],
  ])("headers: %j means %j", (option, read) => {
    expect(readHeadersOption(option)).toEqual(read);
  });

  const legacy = 'legacy must be true, false, "x-ratelimit", or "ratelimit"';
  const reset = 'reset must be "delta", "epoch", or "epoch-ms"';

  test.each([
    [{ legacy: "yes" }, `${legacy}, got "yes"`],
    [{ legacy: null }, `${legacy}, got null`],
    [{ legacy: 1 }, `${legacy}, got 1`],
    [{ standard: "draft-7" }, 'standard must be true or false, got "draft-7"'],
    [{ standard: 0 }, "standard must be true or false, got 0"],
    [{ reset: "seconds" }, `${reset}, got "seconds"`],
    [{ reset: true }, `${reset}, got true`],
    [
      { legacy: false, reset: "epoch" },
      "reset is the unit of a legacy header, which legacy: false",
    ],
    [{ retryAfter: "1" }, 'retryAfter must be true or false, got "1"'],
    [{ draft: 11 }, 'unknown option "draft"; it takes legacy, standard, reset, retryAfter'],
    [{ "x-ratelimit-limit": false }, 'unknown option "x-ratelimit-limit"'],
    [null, "options must be an object, got null"],
    [0, "options must be an object, got 0"],
    ["standard", 'options must be an object, got "standard"'],
    [["legacy"], 'options must be an object, got ["legacy"]'],
  ])("headers rejects %j", (option, message) => {
    const error = errorOf(() => readHeadersOption(option as HeadersOption));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toContain(`headers: ${message}`);
  });
});
