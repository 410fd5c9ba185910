import { describe, expect, test, vi } from "vitest";
import { applyVerdict } from "./guard.ts";
import type { Verdict } from "./verdict.ts";

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

test("a request goes on once it is allowed to, sooner or later", async () => {
  const answer = vi.fn(() => true);
  expect(await nextAfter(answer)).toEqual([[]]);
  expect(answer.mock.calls).toEqual([[pass, {}, {}]]);
  expect(await nextAfter(async () => true)).toEqual([[]]);
});

test("a verdict that is known already is answered at once", () => {
  const next = vi.fn();
  applyVerdict(pass, () => true, {}, {}, next);
  expect(next.mock.calls).toEqual([[]]);
});

test("one that was answered does not", async () => {
  expect(await nextAfter(() => false)).toEqual([]);
  expect(await nextAfter(async () => false)).toEqual([]);
});

test("what goes wrong is handed on as an error, and nothing else", async () => {
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

describe("an error that comes after a request went on is not ours to answer", () => {
  const next = vi.fn(() => {
    throw wrong;
  });

  test("at once: its caller gets it, as from any middleware", () => {
    const answer = vi.fn(() => true);
    expect(() => applyVerdict(pass, answer, {}, {}, next)).toThrow(wrong);
    expect(next.mock.calls).toEqual([[]]);
    expect(answer).toHaveBeenCalledOnce();
  });

  test.each([
    ["the decision", () => applyVerdict(Promise.resolve(pass), () => true, {}, {}, next)],
    ["the answer", () => applyVerdict(pass, async () => true, {}, {}, next)],
  ])("after a wait for %s: the process gets it", async (_, run) => {
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
