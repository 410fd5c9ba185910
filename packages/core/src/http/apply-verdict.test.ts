import { describe, expect, test, vi } from "vitest";
import type { Verdict } from "./apply-verdict.ts";
import { applyVerdict } from "./apply-verdict.ts";

const pass: Verdict = { kind: "pass" };
const wrong = new Error("wrong");

/** The arguments of each call of `next`. */
async function nextAfter(
  answer: (verdict: Verdict) => boolean | Promise<boolean>,
  verdict: Promise<Verdict> = Promise.resolve(pass),
): Promise<unknown[][]> {
  const next = vi.fn();
  applyVerdict(verdict, answer, {}, {}, next);
  await new Promise(setImmediate);
  return next.mock.calls;
}

test("an allowed request continues, whether the verdict is known now or later", async () => {
  const answer = vi.fn(() => true);
  expect(await nextAfter(answer)).toEqual([[]]);
  expect(answer.mock.calls).toEqual([[pass, {}, {}]]);
  expect(await nextAfter(async () => true)).toEqual([[]]);
});

test("a known verdict is applied synchronously", () => {
  const next = vi.fn();
  applyVerdict(pass, () => true, {}, {}, next);
  expect(next.mock.calls).toEqual([[]]);
});

test("a denied request that was answered does not continue", async () => {
  expect(await nextAfter(() => false)).toEqual([]);
  expect(await nextAfter(async () => false)).toEqual([]);
});

test("a thrown value becomes an Error for next", async () => {
  const fail = () => {
    throw wrong;
  };
  const answer = vi.fn(() => true);
  expect(await nextAfter(answer, Promise.reject(wrong))).toEqual([[wrong]]);
  expect(answer).not.toHaveBeenCalled();
  expect(await nextAfter(fail)).toEqual([[wrong]]);
  expect(await nextAfter(() => Promise.reject(wrong))).toEqual([[wrong]]);
  expect(await nextAfter(() => Promise.reject("route"))).toMatchObject([
    [{ code: "HEADGATE_NOT_AN_ERROR", cause: "route" }],
  ]);
});

describe("errors after the request has continued", () => {
  const next = vi.fn(() => {
    throw wrong;
  });

  test("an error thrown by next goes to its caller, as with any middleware", () => {
    const answer = vi.fn(() => true);
    expect(() => applyVerdict(pass, answer, {}, {}, next)).toThrow(wrong);
    expect(next.mock.calls).toEqual([[]]);
    expect(answer).toHaveBeenCalledOnce();
  });

  test.each([
    ["the decision", () => applyVerdict(Promise.resolve(pass), () => true, {}, {}, next)],
    ["the answer", () => applyVerdict(pass, async () => true, {}, {}, next)],
  ])("an error thrown by next after a wait for %s goes to the process", async (_, run) => {
    next.mockClear();
    const listeners = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    try {
      const unhandled = new Promise((resolve) => process.once("unhandledRejection", resolve));
      run();
      expect(await unhandled).toBe(wrong);
    } finally {
      for (const listener of listeners) process.on("unhandledRejection", listener);
    }
    expect(next.mock.calls).toEqual([[]]);
  });
});
