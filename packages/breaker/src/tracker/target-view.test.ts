import { describe, expect, test } from "vitest";
import { readView, retryAfterMsOf, toSnapshot } from "./target-view.ts";

const NOW = 1_800_000_000_000_000;

/** Open since the third time, for 1.0005 s more; 9 calls caused it, and 20 are in the window by now. */
const OPEN = [NOW, 1, 77, 1_000_500, 3, 9, 8, 1, 20, 5, 10, 0, 1];
const HALF_OPEN = OPEN.with(1, 2);

describe("decoding a reply", () => {
  test("a reply decodes to a view of the target", () => {
    expect(readView(OPEN, NOW, true, 1)).toMatchObject({
      state: "open",
      period: 77,
      receivedAt: NOW,
      changesAt: NOW + 1_000_500,
      openings: 3,
      degraded: true,
    });
  });

  test.each([[[]], [OPEN.slice(1)], [[...OPEN, 0]], [OPEN.with(1, 6)], [OPEN.with(1, -2)]])(
    "a reply that no script returns throws HEADGATE_BAD_REPLY: %j",
    (reply) => {
      expect(() => readView(reply, NOW, false, 1)).toThrow(
        expect.objectContaining({
          code: "HEADGATE_BAD_REPLY",
          message: `sync-target returned ${JSON.stringify(reply)}`,
        }),
      );
    },
  );
});

test("a snapshot has the counts of the window and a retryAfterMs that is rounded up", () => {
  expect(toSnapshot(readView(OPEN, NOW, true, 1))).toEqual({
    state: "open",
    calls: 20,
    successes: 15,
    failures: 5,
    slowCalls: 10,
    successRate: 0.75,
    slowCallRate: 0.5,
    openings: 3,
    retryAfterMs: 1_001,
    degraded: true,
  });
  expect(toSnapshot(readView(HALF_OPEN, NOW, false, 1))).toMatchObject({
    state: "half-open",
    retryAfterMs: 0,
    degraded: false,
  });
});

describe("retryAfterMs", () => {
  test("retryAfterMs counts from now and is at least 1 ms", () => {
    const view = readView(OPEN, NOW, false, 1);
    expect(retryAfterMsOf(view, NOW)).toBe(1_001);
    expect(retryAfterMsOf(view, NOW + 500_000)).toBe(501);
    expect(retryAfterMsOf(view, NOW + 1_000_499)).toBe(1);
    expect(retryAfterMsOf(view, NOW + 9_000_000)).toBe(1);
  });

  test("retryAfterMs does not grow when the clock steps back", () => {
    expect(retryAfterMsOf(readView(OPEN, NOW, false, 1), NOW - 60_000_000)).toBe(1_001);
  });

  test("retryAfterMs is at most a second on a ramp, and Infinity while forced open", () => {
    expect(retryAfterMsOf(readView(OPEN.with(1, 0), NOW, false, 1), NOW)).toBe(1_000);
    expect(retryAfterMsOf(readView(OPEN.with(1, 3), NOW, false, 1), NOW)).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});
