import type { Decision } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import type { HeadersOption } from "@headgate/core/http";
import { toRateLimitHeaders } from "@headgate/core/http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";

const limits = [
  gcra({ limit: 2, window: "1m", name: "steady" }),
  fixedWindow({ limit: 100, window: "1d", name: "daily" }),
];

/** Every dialect and every part that can be left out. */
const OPTIONS: readonly (readonly [HeadersOption | undefined])[] = [
  [undefined],
  [{ legacy: "ratelimit" }],
  [{ legacy: "ratelimit", standard: true }],
  [{ legacy: false }],
  [{ standard: false, reset: "epoch" }],
  [{ retryAfter: false }],
  [false],
];

/** Names in lower case, as Node reads headers. */
function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** The headers of a response that a limiter has set. */
function setByLimiter(headers: object): object {
  const own = Object.entries(headers).filter(([name]) =>
    /^(x-)?ratelimit|^retry-after$|^cache-control$/.test(name),
  );
  return Object.fromEntries(own);
}

describeAdapters(({ serve }) => {
  test.each(OPTIONS)(
    "toRateLimitHeaders gives the headers that the adapter sends: %j",
    async (headers) => {
      // Reset times are whole seconds.
      onTestFinished(() => void vi.useRealTimers());
      vi.useFakeTimers({ now: 1_800_000_000_250, toFake: ["Date"] });
      const { sendRequest } = await serve({
        limits: {
          limits,
          headers,
          cost: { steady: 1, daily: 0 },
          onDenied: (_, send, decision) =>
            send(429, JSON.stringify(toRateLimitHeaders(decision, headers))),
        },
        routes: {
          "/": { handle: ({ rateLimit }) => toRateLimitHeaders(rateLimit as Decision, headers) },
        },
      });
      for (const status of [200, 200, 429]) {
        const response = await sendRequest();
        expect(response.status).toBe(status);
        expect(lowerCase(JSON.parse(response.text))).toEqual(setByLimiter(response.headers));
      }
    },
  );
});

describe("toRateLimitHeaders", () => {
  test("the headers of a denial are those of both dialects, with Retry-After", async () => {
    const limiter = createLimiter({ limits });
    await limiter.consume("ann", { cost: 2 });
    expect(toRateLimitHeaders(await limiter.consume("ann"))).toEqual({
      "X-RateLimit-Limit": "2",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": "60",
      "RateLimit-Policy": '"steady";q=2;w=60, "daily";q=100;w=86400',
      RateLimit: '"steady";r=0;t=30, "daily";r=98;t=86400',
      "Retry-After": "30",
      "Cache-Control": "no-store",
    });
  });

  test("a decision in shadow mode has no headers", async () => {
    const limiter = createLimiter({ limits, shadow: true });
    expect(toRateLimitHeaders(await limiter.consume("ann"))).toEqual({});
  });

  test("a wrong option is an error that names it", async () => {
    const decision = await createLimiter({ limits }).consume("ann");
    expect(() => toRateLimitHeaders(decision, { reset: "seconds" as "delta" })).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringMatching(/headers: reset .*"seconds"/),
      }),
    );
  });
});
