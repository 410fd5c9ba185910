import { gcra } from "@headgate/core";
import type { HeadersOption } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { TestResponse } from "./support/send-request.ts";

const LEGACY = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
const DRAFT_6 = ["ratelimit-limit", "ratelimit-policy", "ratelimit-remaining", "ratelimit-reset"];
const STANDARD = ["ratelimit", "ratelimit-policy"];
const DENIAL = ["cache-control", "retry-after"];

/** Everything a limiter could have said, and every way to misspell it. */
function limitHeaders({ headers }: TestResponse): string[] {
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
  { headers: { legacy: "x-ratelimit" }, sent: [...LEGACY, ...STANDARD] },
  { headers: { legacy: "ratelimit" }, sent: DRAFT_6 },
  { headers: { legacy: "ratelimit", standard: true }, sent: [...DRAFT_6, "ratelimit"] },
  { headers: { retryAfter: false }, sent: [...LEGACY, ...STANDARD], denial: ["cache-control"] },
  {
    headers: { legacy: false, standard: false, retryAfter: false },
    sent: [],
    denial: ["cache-control"],
  },
] as const satisfies readonly {
  headers: HeadersOption | undefined;
  sent: readonly string[];
  denial?: readonly string[];
}[];

describeAdapters(({ serve }) => {
  test.each(cases)("headers: $headers sends exactly these headers", async (one) => {
    const { headers, sent, denial = DENIAL } = { denial: undefined, ...one };
    const limits = gcra({ limit: 1, window: "1h" });
    const { sendRequest } = await serve({ limits: { limits, headers } });
    const allowed = await sendRequest();
    expect(allowed.status).toBe(200);
    expect(limitHeaders(allowed)).toEqual([...sent].sort());
    const denied = await sendRequest();
    expect(denied.status).toBe(429);
    expect(limitHeaders(denied)).toEqual([...sent, ...denial].sort());
  });

  test.each([
    { headers: "draft-7" },
    { headers: { legacy: "yes" } },
    { headers: { standard: 1 } },
    { headers: { legacy: "draft-6" } },
    { headers: { reset: "delta-seconds" } },
    { headers: { legacyReset: "epoch" } },
    { headers: { legacy: false, reset: "epoch" } },
    { headers: { retryAfter: "1" } },
    { headers: null },
  ])("headers rejects $headers at construction", async ({ headers }) => {
    const limits = gcra({ limit: 1, window: "1h" });
    await expect(serve({ limits: { limits, headers: headers as never } })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
    });
  });
});
