import { gcra } from "@headgate/core";
import { expect, test } from "vitest";
import type { Answer } from "./support/ask.ts";
import { describeFrameworks } from "./support/describe-frameworks.ts";

const LEGACY = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
const STANDARD = ["ratelimit", "ratelimit-policy"];
const DENIAL = ["cache-control", "retry-after"];

/** Everything a limiter could have said, and every way to misspell it. */
function limitHeaders({ headers }: Answer): string[] {
  return Object.keys(headers)
    .filter((name) => /rate|limit|retry|reset|remaining|cache/.test(name))
    .sort();
}

const cases = [
  { headers: undefined, sent: [...LEGACY, ...STANDARD] },
  { headers: true, sent: [...LEGACY, ...STANDARD] },
  { headers: {}, sent: [...LEGACY, ...STANDARD] },
  { headers: { legacy: false }, sent: STANDARD },
  { headers: { standard: false }, sent: LEGACY },
  { headers: { legacy: false, standard: false }, sent: [] },
  { headers: false, sent: [] },
] as const;

describeFrameworks(({ serve }) => {
  test.each(cases)("headers: $headers sends these and no others", async ({ headers, sent }) => {
    const limits = gcra({ limit: 1, window: "1h" });
    const { ask } = await serve({ limits: { limits, headers } });
    const allowed = await ask();
    expect(allowed.status).toBe(200);
    expect(limitHeaders(allowed)).toEqual([...sent].sort());
    const denied = await ask();
    expect(denied.status).toBe(429);
    expect(limitHeaders(denied)).toEqual([...sent, ...DENIAL].sort());
  });

  test.each([
    { headers: "draft-7" },
    { headers: { legacy: "yes" } },
    { headers: { standard: 1 } },
    { headers: { legacyReset: "delta-seconds" } },
    { headers: { retryAfter: false } },
    { headers: null },
  ])("$headers is an error at construction", async ({ headers }) => {
    const limits = gcra({ limit: 1, window: "1h" });
    await expect(serve({ limits: { limits, headers: headers as never } })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
    });
  });
});
