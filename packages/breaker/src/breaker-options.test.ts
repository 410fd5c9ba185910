import { memoryStore } from "@headgate/core";
import { describe, expect, test } from "vitest";
import type { BreakerOptions } from "./breaker-options.ts";
import { createBreaker } from "./create-breaker.ts";
import { callWindow } from "./machine/call-window.ts";
import { timeWindow } from "./machine/time-window.ts";
import { readBreakerOptions } from "./read-options.ts";

const A_DAY_MS = 86_400_000;

/** Makes a breaker of options as a caller without types may give them. */
const make = (options: unknown) => () => createBreaker(options as BreakerOptions);

function refusal(message: string) {
  return expect.objectContaining({ code: "HEADGATE_INVALID_OPTION", message });
}

function noDuration(option: string, received: string) {
  return refusal(
    `${option} must be a duration from 1 ms to 366 days: a whole number of milliseconds, or a whole number and a unit like "250ms", "10s", "1m", "1h", "7d", "30 seconds"; got ${received}`,
  );
}

test("createBreaker has the documented defaults", () => {
  expect(readBreakerOptions({})).toMatchObject({
    policy: {
      window: timeWindow,
      windowSize: 300_000_000,
      minimumCalls: 20,
      minimumSuccessRate: 0.5,
      trialCalls: 5,
      leaseMicros: 31_000_000,
      rampUpMicros: 0,
      openForMicros: [30_000_000],
    },
    storeTimes: { timeoutMs: 100, connectMs: 1_000 },
    slowCallMs: Number.POSITIVE_INFINITY,
    trialCallTimeoutMs: 30_000,
    flushIntervalMicros: 250_000,
    isFailure: undefined,
    abortOutcome: "ignore",
    maxTargets: 1_000,
  });
});

test("an option that is undefined has its default", () => {
  const { window, name, store, ...others } = Object.fromEntries(
    Object.keys(everything).map((option) => [option, undefined]),
  );
  expect(readBreakerOptions(others)).toEqual(readBreakerOptions({}));
  expect(make({ window, name, store })).not.toThrow();
});

test("each option is read", () => {
  expect(readBreakerOptions(everything)).toMatchObject({
    policy: {
      window: callWindow,
      windowSize: 70,
      minimumCalls: 9,
      minimumSuccessRate: 0.25,
      slowCallRate: 0.75,
      trialCalls: 3,
      leaseMicros: 5_000_000,
      rampUpMicros: 60_000_000,
      openForMicros: [7_000_000],
    },
    storeTimes: { timeoutMs: 30, connectMs: 1_000 },
    slowCallMs: 2_000,
    trialCallTimeoutMs: 4_000,
    flushIntervalMicros: 10_000,
    isFailure: everything.isFailure,
    abortOutcome: "failure",
    maxTargets: 12,
  });
});

const everything = {
  name: "payments",
  store: memoryStore(),
  storeTimeout: 30,
  window: { calls: 70 },
  minimumSuccessRate: 0.25,
  minimumCalls: 9,
  slowCall: "2s",
  slowCallRate: 0.75,
  openFor: "7s",
  trialCalls: 3,
  trialCallTimeout: "4s",
  rampUp: "1m",
  flushInterval: 10,
  isFailure: () => false,
  abortOutcome: "failure",
  maxTargets: 12,
} as const satisfies BreakerOptions;

describe("durations", () => {
  test.each([
    ["window", "1d", "1 day"],
    ["slowCall", "1d", "1 day"],
    ["trialCallTimeout", "1d", "1 day"],
    ["rampUp", "1d", "1 day"],
    ["flushInterval", "1m", "1 minute"],
  ])("%s accepts 1 ms to %s", (option, longest, inWords) => {
    expect(make({ [option]: 1 })).not.toThrow();
    expect(make({ [option]: longest })).not.toThrow();
    const more = inWords === "1 day" ? A_DAY_MS + 1 : 60_001;
    expect(make({ [option]: more })).toThrow(
      refusal(`createBreaker: ${option} must be at most ${inWords}, got ${more}`),
    );
  });

  test("openFor accepts 1 ms to 366 days", () => {
    expect(make({ openFor: 1 })).not.toThrow();
    expect(make({ openFor: "366d" })).not.toThrow();
    expect(make({ openFor: "367d" })).toThrow(noDuration("openFor", '"367d"'));
  });

  test("storeTimeout accepts 1 ms to 1 minute", () => {
    expect(make({ storeTimeout: 1 })).not.toThrow();
    expect(make({ storeTimeout: "1m" })).not.toThrow();
    expect(make({ storeTimeout: 60_001 })).toThrow(
      refusal("storeTimeout must be from 1 ms to 1 minute, got 60001"),
    );
  });

  test.each([
    "storeTimeout",
    "window",
    "slowCall",
    "openFor",
    "trialCallTimeout",
    "rampUp",
    "flushInterval",
  ])("%s rejects what is not a duration", (option) => {
    expect(make({ [option]: 0.5 })).toThrow(noDuration(option, "0.5"));
    expect(make({ [option]: -1 })).toThrow(noDuration(option, "-1"));
    expect(make({ [option]: "soon" })).toThrow(noDuration(option, '"soon"'));
    expect(make({ [option]: Number.NaN })).toThrow(noDuration(option, "NaN"));
    expect(make({ [option]: 10n })).toThrow(noDuration(option, "10n"));
  });

  test.each(["storeTimeout", "window", "slowCall", "openFor", "trialCallTimeout", "rampUp"])(
    "%s rejects 0, which only flushInterval accepts",
    (option) => {
      expect(make({ [option]: 0 })).toThrow(noDuration(option, "0"));
      expect(readBreakerOptions({ flushInterval: 0 }).flushIntervalMicros).toBe(0);
      expect(make({ flushInterval: "0ms" })).toThrow(noDuration("flushInterval", '"0ms"'));
    },
  );
});

describe("a window of calls", () => {
  test("window.calls accepts 1 to 10,000", () => {
    expect(make({ window: { calls: 1 } })).not.toThrow();
    expect(make({ window: { calls: 10_000 } })).not.toThrow();
  });

  test.each([
    [0, "0"],
    [10_001, "10001"],
    [1.5, "1.5"],
    ["100", '"100"'],
    [undefined, "undefined"],
  ])("window.calls rejects %s", (calls, received) => {
    expect(make({ window: { calls } })).toThrow(
      refusal(
        `createBreaker: window.calls must be a whole number from 1 to 10000, got ${received}`,
      ),
    );
  });

  test("window rejects unknown options and other types", () => {
    expect(make({ window: { calls: 5, time: "1m" } })).toThrow(
      refusal('window: unknown option "time"; it takes calls'),
    );
    expect(make({ window: [5] })).toThrow(refusal("window: options must be an object, got [5]"));
    expect(make({ window: () => "5m" })).toThrow(noDuration("window", "a function"));
  });

  test("minimumCalls defaults to window.calls, up to 20, and must not exceed it", () => {
    const callsFor = (calls: number) =>
      readBreakerOptions({ window: { calls } }).policy.minimumCalls;
    expect([1, 19, 20, 21].map(callsFor)).toEqual([1, 19, 20, 20]);
    expect(make({ window: { calls: 9 }, minimumCalls: 9 })).not.toThrow();
    expect(make({ window: { calls: 9 }, minimumCalls: 10 })).toThrow(
      refusal("createBreaker: minimumCalls must be a whole number from 1 to 9, got 10"),
    );
  });
});

describe("whole numbers", () => {
  test.each([
    ["minimumCalls", 2 ** 32],
    ["trialCalls", 100],
    ["maxTargets", 100_000],
  ])("%s accepts whole numbers from 1 to %i", (option, most) => {
    for (const number of [1, most]) {
      expect(() => readBreakerOptions({ [option]: number })).not.toThrow();
    }
    const rule = `createBreaker: ${option} must be a whole number from 1 to ${most}`;
    for (const number of [0, -1, 1.5, most + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(make({ [option]: number })).toThrow(refusal(`${rule}, got ${number}`));
    }
    expect(make({ [option]: "5" })).toThrow(refusal(`${rule}, got "5"`));
    expect(make({ [option]: 5n })).toThrow(refusal(`${rule}, got 5n`));
  });
});

describe("rates", () => {
  test("minimumSuccessRate accepts 0 to 1", () => {
    expect(make({ minimumSuccessRate: 0 })).not.toThrow();
    expect(make({ minimumSuccessRate: 1 })).not.toThrow();
    const rule = "createBreaker: minimumSuccessRate must be from 0 to 1";
    for (const share of [-0.01, 1.01, 50, Number.NaN]) {
      expect(make({ minimumSuccessRate: share })).toThrow(refusal(`${rule}, got ${share}`));
    }
    expect(make({ minimumSuccessRate: "0.5" })).toThrow(refusal(`${rule}, got "0.5"`));
    expect(make({ minimumSuccessRate: null })).toThrow(refusal(`${rule}, got null`));
  });

  test("slowCallRate accepts numbers above 0, up to 1", () => {
    expect(make({ slowCall: "1s", slowCallRate: 0.001 })).not.toThrow();
    expect(make({ slowCall: "1s", slowCallRate: 1 })).not.toThrow();
    const rule = "createBreaker: slowCallRate must be above 0, up to 1";
    for (const share of [0, -0.5, 1.01, 80, Number.NaN]) {
      expect(make({ slowCall: "1s", slowCallRate: share })).toThrow(
        refusal(`${rule}, got ${share}`),
      );
    }
    expect(make({ slowCall: "1s", slowCallRate: "1" })).toThrow(refusal(`${rule}, got "1"`));
  });

  test("slowCallRate defaults to 1 with slowCall, and is rejected without it", () => {
    expect(readBreakerOptions({ slowCall: "1s" }).policy.slowCallRate).toBe(1);
    // No share of calls reaches it.
    expect(readBreakerOptions({}).policy.slowCallRate).toBeGreaterThan(1);
    expect(make({ slowCallRate: 0.5 })).toThrow(
      refusal(
        "createBreaker: slowCallRate needs slowCall, the duration above which a call is slow, got 0.5",
      ),
    );
  });
});

test.each([null, "yes", 5, {}])("isFailure rejects %s, which is no function", (isFailure) => {
  expect(make({ isFailure })).toThrow(
    refusal(`createBreaker: isFailure must be a function, got ${JSON.stringify(isFailure)}`),
  );
});

test('abortOutcome accepts "ignore", "success" and "failure" only', () => {
  for (const abortOutcome of ["ignore", "success", "failure"]) {
    expect(make({ abortOutcome })).not.toThrow();
  }
  const rule = 'createBreaker: abortOutcome must be "ignore", "success" or "failure"';
  expect(make({ abortOutcome: "maybe" })).toThrow(refusal(`${rule}, got "maybe"`));
  expect(make({ abortOutcome: false })).toThrow(refusal(`${rule}, got false`));
  expect(make({ abortOutcome: null })).toThrow(refusal(`${rule}, got null`));
});

test("store rejects what no store factory made", () => {
  expect(make({ name: "a", store: {} })).toThrow(
    refusal("store must be made by memoryStore or redisStore, got an object"),
  );
  expect(make({ name: "a", store: null })).toThrow(
    refusal("store must be made by memoryStore or redisStore, got null"),
  );
});

describe("unknown options", () => {
  test("an unknown option throws an error that lists the known ones", () => {
    expect(make({ Window: "1m" })).toThrow(
      refusal(
        'createBreaker: unknown option "Window"; it takes name, store, storeTimeout, connectTimeout, window, minimumSuccessRate, minimumCalls, slowCall, slowCallRate, openFor, trialCalls, trialCallTimeout, rampUp, flushInterval, isFailure, abortOutcome, maxTargets',
      ),
    );
  });

  /** Of opossum 9, cockatiel 3 and resilience4j 2. */
  test.each([
    ["errorThresholdPercentage", "minimumSuccessRate, 0 to 1"],
    ["failureRateThreshold", "minimumSuccessRate, 0 to 1"],
    ["threshold", "minimumSuccessRate, 0 to 1"],
    ["volumeThreshold", "minimumCalls"],
    ["minimumNumberOfCalls", "minimumCalls"],
    ["minimumRps", "minimumCalls"],
    ["resetTimeout", "openFor"],
    ["halfOpenAfter", "openFor"],
    ["waitDurationInOpenState", "openFor"],
    ["permittedNumberOfCallsInHalfOpenState", "trialCalls"],
    ["rollingCountTimeout", "window"],
    ["slidingWindowSize", "window"],
    ["duration", "window"],
    ["slowCallDurationThreshold", "slowCall"],
    ["slowCallRateThreshold", "slowCallRate, 0 to 1"],
    ["errorFilter", "isFailure"],
    ["timeout", "run(fn, { timeout })"],
    ["fallback", "run(fn, { fallback })"],
  ])(
    "an option of another breaker library throws an error that names our equivalent: %s",
    (option, ours) => {
      expect(make({ [option]: 1 })).toThrow(
        refusal(`createBreaker: unknown option "${option}"; Headgate's way is ${ours}`),
      );
    },
  );

  test.each([null, 5, "payments", []])(
    "createBreaker rejects %s in place of options",
    (options) => {
      expect(make(options)).toThrow(
        refusal(`createBreaker: options must be an object, got ${JSON.stringify(options)}`),
      );
    },
  );
});
