import { setTimeout as after } from "node:timers/promises";
import type { Decision } from "@headgate/core";
import { gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { SharedOptions } from "./support/framework.ts";
import { secondsLeft } from "./support/seconds-left.ts";

const once = gcra({ limit: 1, window: "1h" });

function limitedBy(onDenied: SharedOptions["onDenied"]): SharedOptions {
  return { limits: once, onDenied };
}

describeAdapters(({ serve }) => {
  test("onDenied responds with the headers of a denial already set", async () => {
    const { sendRequest, handled } = await serve({
      limits: limitedBy((_, send) => send(503, "come back later")),
    });
    await sendRequest();
    const denied = await sendRequest();
    expect([denied.status, denied.text]).toEqual([503, "come back later"]);
    expect(denied.headers).toMatchObject({
      "retry-after": secondsLeft(3_600),
      "x-ratelimit-remaining": "0",
      "cache-control": "no-store",
    });
    expect(denied.headers).toHaveProperty("ratelimit");
    expect(denied.headers["content-type"]).toMatch(/^text\/plain/);
    expect(handled).toHaveLength(1);
  });

  test("onDenied gets the request and its decision, and is called only for denials", async () => {
    const calls: { url: string; decision: Decision; same: boolean }[] = [];
    const { sendRequest } = await serve({
      limits: limitedBy((request, _, decision) => {
        calls.push({ url: request.url, decision, same: request.rateLimit === decision });
      }),
    });
    await sendRequest();
    expect(calls).toEqual([]);
    await sendRequest("/?again=1");
    expect(calls).toMatchObject([
      { url: "/?again=1", same: true, decision: { allowed: false, remaining: 0, limit: 1 } },
    ]);
  });

  test("Headgate responds if onDenied only logs", async () => {
    const { sendRequest, handled } = await serve({ limits: limitedBy(() => {}) });
    await sendRequest();
    const denied = await sendRequest();
    expect(denied.status).toBe(429);
    expect(denied.headers["content-type"]).toBe("application/problem+json");
    expect(denied.json()).toMatchObject({ title: "Too Many Requests" });
    expect(handled).toHaveLength(1);
  });

  test("the request does not continue, whatever onDenied returns", async () => {
    for (const returned of [true, "next", 200, { allowed: true }, null]) {
      const { sendRequest, handled } = await serve({ limits: limitedBy(async () => returned) });
      await sendRequest();
      expect((await sendRequest()).status).toBe(429);
      expect(handled).toHaveLength(1);
    }
  });

  test("Headgate waits for an asynchronous onDenied", async () => {
    const { sendRequest, handled } = await serve({
      limits: limitedBy(async (_, send) => {
        await after(20);
        send(429, "late");
      }),
    });
    await sendRequest();
    expect(await sendRequest()).toMatchObject({ status: 429, text: "late" });
    expect(handled).toHaveLength(1);
  });

  test("Headgate responds if an asynchronous onDenied settles without a response", async () => {
    const { sendRequest } = await serve({ limits: limitedBy(async () => after(20)) });
    await sendRequest();
    expect((await sendRequest()).headers["content-type"]).toBe("application/problem+json");
  });

  test.each([
    {
      kind: "throws",
      onDenied: () => {
        throw new TypeError("the log is full");
      },
    },
    {
      kind: "rejects",
      onDenied: async () => {
        await after(1);
        throw new TypeError("the log is full");
      },
    },
  ])(
    "an onDenied that $kind passes its error to the error handler, and the handler is not called",
    async ({ onDenied }) => {
      const { sendRequest, handled, errors } = await serve({ limits: limitedBy(onDenied) });
      await sendRequest();
      const denied = await sendRequest();
      expect(denied.status).toBe(500);
      expect(denied.json()).toMatchObject({ message: "the log is full" });
      expect(denied.headers).toMatchObject({
        "retry-after": secondsLeft(3_600),
        "cache-control": "no-store",
        "x-ratelimit-limit": "1",
        "x-ratelimit-remaining": "0",
      });
      expect(denied.headers["ratelimit"]).toMatch(/;r=0;/);
      expect(errors.map(({ name }) => name)).toEqual(["TypeError"]);
      expect(handled).toHaveLength(1);
    },
  );

  test('onDenied must be a function or "error"', async () => {
    for (const onDenied of ["errors", true, {}, null]) {
      await expect(serve({ limits: limitedBy(onDenied as never) })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
      });
    }
  });
});
