import { expect } from "vitest";

/** Options with which Redis makes every decision, even on a busy machine and after a FLUSHALL between tests. */
export const FROM_REDIS = { storeTimeout: "1m", denyCache: false } as const;

/** A key of Headgate: the documented parts in order, in the documented alphabet. */
const KEY =
  /^[\w.-]{1,32}:\{([\w.~@/:%-]{1,64}|#[\w-]{43})\}:([\w.~@/%-]{1,64}|#[\w-]{43}):[\w.-]{1,64}:[\w-]{8}(:log\d+)?$/;

/** 32 for the prefix, 64 each for subject, name and dimension, 8 for the fingerprint, the separators, and the log's suffix. */
const LONGEST_KEY = 32 + 3 * 64 + 8 + 6 + ":log99".length;

/** Expects documented keys under the prefix only, in which a client's text cannot leave its part of the key. */
export function expectOurKeys(keys: readonly Buffer[], prefix: string): string[] {
  return keys.map((bytes) => {
    // One byte per character, so that anything but ASCII fails the pattern.
    const key = bytes.toString("latin1");
    expect(key).toMatch(KEY);
    expect(key.startsWith(`${prefix}:{`)).toBe(true);
    expect(bytes.length).toBeLessThanOrEqual(LONGEST_KEY);
    // An escape is complete, and has only one spelling.
    expect(key.replace(/%(u[0-9a-f]{4}|[0-9a-f]{2})/g, "")).not.toContain("%");
    return key;
  });
}
