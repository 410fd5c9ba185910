import { describe, expect, test, vi } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";

/** Runs a call as a caller without types may; `called` says whether it was made. */
async function run(...parameters: unknown[]) {
  const { breaker } = breakerOnClock();
  const untyped = breaker.run as (...parameters: unknown[]) => Promise<unknown>;
  const running = untyped(...parameters);
  const error = await running.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(await breaker.snapshot()).toMatchObject({ calls: error === undefined ? 1 : 0 });
  return error;
}

function refusal(message: string) {
  return expect.objectContaining({ code: "HEADGATE_INVALID_OPTION", message });
}

describe("run rejects", () => {
  test.each([
    [undefined, "undefined"],
    ["https://example.com", "a string"],
    [{}, "an object"],
    [Promise.resolve(1), "an object"],
  ])("run rejects a call that is no function: %s", async (call, received) => {
    expect(await run(call)).toEqual(refusal(`run: call must be a function, got ${received}`));
  });

  test.each([
    [null, "null"],
    [5, "5"],
    [[], "[]"],
  ])("run rejects invalid options: %s", async (options, received) => {
    const call = vi.fn();
    expect(await run(call, options)).toEqual(
      refusal(`run: options must be an object, got ${received}`),
    );
    expect(call).not.toHaveBeenCalled();
  });

  test("run rejects an unknown option", async () => {
    expect(await run(vi.fn(), { retries: 3 })).toEqual(
      refusal('run: unknown option "retries"; it takes fallback, signal, timeout'),
    );
  });

  test.each([
    ["cached", "a string"],
    [null, "null"],
    [{ reason: "open" }, "an object"],
  ])("run rejects a fallback that is no function: %s", async (fallback, received) => {
    const call = vi.fn();
    expect(await run(call, { fallback })).toEqual(
      refusal(`run: fallback must be a function, got ${received}`),
    );
    expect(call).not.toHaveBeenCalled();
  });

  test.each([
    [new AbortController(), "an object"],
    [null, "null"],
    [true, "a boolean"],
  ])("run rejects an invalid signal: %s", async (signal, received) => {
    const call = vi.fn();
    expect(await run(call, { signal })).toEqual(
      refusal(`run: signal must be an AbortSignal, got ${received}`),
    );
    expect(call).not.toHaveBeenCalled();
  });

  test.each([
    [0, "0"],
    [-5, "-5"],
    [1.5, "1.5"],
    [Number.NaN, "NaN"],
    ["soon", "a string"],
    [null, "null"],
  ])("run rejects a timeout that is no duration: %s", async (timeout, received) => {
    const call = vi.fn();
    expect(await run(call, { timeout })).toEqual(
      refusal(
        `timeout must be a duration from 1 ms to 366 days: a whole number of milliseconds, or a whole number and a unit like "250ms", "10s", "1m", "1h", "7d", "30 seconds"; got ${received}`,
      ),
    );
    expect(call).not.toHaveBeenCalled();
  });

  test("run rejects a timeout of more than a day", async () => {
    const error = await run(vi.fn(), { timeout: 86_400_001 });
    expect(error).toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
    expect((error as Error).message).toMatch(/^run: timeout must be at most 1 day, got /);
  });
});

test.each([
  [undefined],
  [{}],
  [{ fallback: undefined, signal: undefined, timeout: undefined }],
  [{ timeout: 1 }],
  [{ timeout: "1d" }],
  [{ signal: new AbortController().signal, fallback: () => 1, timeout: "1m" }],
])("run accepts the options %j", async (options) => {
  expect(await run(() => 1, options)).toBeUndefined();
});
