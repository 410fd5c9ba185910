import { expect } from "vitest";

/** Every answer comes from Redis: however busy the machine is, and though the server is emptied between tests. */
export const FROM_REDIS = { storeTimeout: "1m", denyCache: false } as const;

/** What a key of Headgate's may be made of: the documented alphabet, in the documented order. */
const KEY =
  /^[\w.-]{1,32}:\{([\w.~@/:%-]{1,64}|#[\w-]{43})\}:([\w.~@/%-]{1,64}|#[\w-]{43}):[\w.-]{1,64}:[\w-]{8}(:log\d+)?$/;

/** 32 for the prefix, 64 each for subject, name and dimension, 8 for the fingerprint, what stands between, and the log. */
const LONGEST_KEY = 32 + 3 * 64 + 8 + 6 + ":log99".length;

/** Expects keys under the prefix only, of the documented alphabet, with nothing of a client that could leave its place. */
export function expectOurKeys(keys: readonly Buffer[], prefix: string): string[] {
  return keys.map((bytes) => {
    // One byte a sign: what is no ASCII would show.
    const key = bytes.toString("latin1");
    expect(key).toMatch(KEY);
    expect(key.startsWith(`${prefix}:{`)).toBe(true);
    expect(bytes.length).toBeLessThanOrEqual(LONGEST_KEY);
    // An escape is whole, and written in one way only.
    expect(key.replace(/%(u[0-9a-f]{4}|[0-9a-f]{2})/g, "")).not.toContain("%");
    return key;
  });
}
