import { createLimiter, gcra } from "@headgate/core";
import { toProblem } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeFrameworks } from "./support/describe-frameworks.ts";

const limits = [
  gcra({ limit: 1, window: "1h", name: "tight" }),
  gcra({ limit: 1, window: "1d", name: "daily" }),
  gcra({ limit: 9, window: "1h", name: "loose" }),
];

describeFrameworks(({ serve }) => {
  test("the body of a denial is a problem document with the names of the violated limits", async () => {
    const { sendRequest, handled } = await serve({ limits: { limits } });
    await sendRequest();
    const denied = await sendRequest();
    expect(denied.status).toBe(429);
    expect(denied.headers["content-type"]).toBe("application/problem+json");
    expect(denied.headers["cache-control"]).toBe("no-store");
    expect(Number(denied.headers["content-length"])).toBe(denied.text.length);
    expect(denied.json()).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Too Many Requests",
      status: 429,
      "violated-policies": ["tight", "daily"],
    });
    expect(handled).toHaveLength(1);
  });

  test("the body of a denial equals toProblem(decision)", async () => {
    const limiter = createLimiter({ limits });
    const { sendRequest } = await serve({ limits: { limiter, key: () => "all" } });
    await sendRequest();
    const denied = await sendRequest();
    expect(denied.json()).toEqual(toProblem(await limiter.peek("all")));
  });

  test("every HTTP method is denied in the same way, and HEAD gets no body", async () => {
    const { sendRequest, handled } = await serve({ limits: { limits } });
    await sendRequest();
    const posted = await sendRequest("/", { method: "POST" });
    expect([posted.status, posted.headers["content-type"]]).toEqual([
      429,
      "application/problem+json",
    ]);
    const head = await sendRequest("/", { method: "HEAD" });
    expect([head.status, head.text]).toEqual([429, ""]);
    expect(head.headers).toHaveProperty("retry-after");
    expect(handled).toHaveLength(1);
  });
});
