import { createLimiter, gcra, slidingLog } from "@headgate/core";
import { byHeader, subjectOf } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest } from "./support/framework.ts";

const failures = slidingLog({ limit: 3, window: "15m", name: "failures" });

const isGood = ({ url }: AnyRequest) => url.includes("password=right");

describeAdapters(({ serve }) => {
  test("after a good login, a reset clears the failed logins of one subject only", async () => {
    const limiter = createLimiter({ limits: failures });
    const { sendRequest } = await serve({
      limits: { limits: gcra({ limit: 100, window: "1m", per: "ip" }) },
      routes: {
        "/login": {
          limits: { limiter, key: byHeader("x-user") },
          async handle(request) {
            if (isGood(request)) await limiter.reset(subjectOf(request) ?? "");
            return { good: isGood(request) };
          },
        },
      },
    });
    const login = (user: string, password: string) =>
      sendRequest(`/login?password=${password}`, { headers: { "x-user": user } });
    for (const user of ["ann", "bob"]) {
      await login(user, "wrong");
      await login(user, "wrong");
    }
    await login("ann", "right");
    expect((await login("ann", "wrong")).headers["ratelimit"]).toContain('"failures";r=2');
    expect((await login("bob", "wrong")).headers["ratelimit"]).toContain('"failures";r=0');
    expect((await login("bob", "right")).status).toBe(429);
  });

  test("subjectOf contains every dimension, so that address and account are both reset", async () => {
    const limiter = createLimiter({
      limits: [
        slidingLog({ limit: 3, window: "15m", per: "ip", name: "ip" }),
        slidingLog({ limit: 3, window: "15m", per: "user", name: "user" }),
      ],
    });
    const { sendRequest } = await serve({
      limits: { limiter, key: { user: byHeader("x-user") } },
      routes: {
        "/": {
          async handle(request) {
            if (isGood(request)) await limiter.reset(subjectOf(request) ?? {});
            return subjectOf(request);
          },
        },
      },
    });
    const headers = { "x-user": "ann" };
    const subjects = (await sendRequest("/", { headers })).json();
    expect(subjects).toEqual({ ip: "127.0.0.1", user: expect.stringMatching(/^~sha256~/) });
    await sendRequest("/?password=right", { headers });
    expect((await sendRequest("/", { headers })).headers["ratelimit"]).toBe(
      '"ip";r=2;t=900, "user";r=2;t=900',
    );
  });

  test("a reset by subjectOf does not clear the global counter", async () => {
    const limiter = createLimiter({
      limits: [failures, gcra({ limit: 9, window: "1d", per: "global", name: "all" })],
    });
    const { sendRequest } = await serve({
      limits: { limiter },
      routes: { "/": { handle: (request) => limiter.reset(subjectOf(request) ?? "") } },
    });
    await sendRequest();
    await sendRequest();
    expect((await sendRequest()).headers["ratelimit"]).toMatch(/^"failures";r=2;t=\d+, "all";r=6;/);
  });

  test("subjectOf is undefined for a request that was not counted", async () => {
    const { sendRequest } = await serve({
      limits: { limits: failures, skip: () => true },
      routes: { "/": { handle: (request) => ({ counted: subjectOf(request) !== undefined }) } },
    });
    expect((await sendRequest()).json()).toEqual({ counted: false });
  });

  test("the limiter of the middleware can be reset manually", async () => {
    const limiter = createLimiter({ limits: gcra({ limit: 1, window: "1h" }) });
    const { sendRequest } = await serve({ limits: { limiter } });
    await sendRequest();
    expect((await sendRequest()).status).toBe(429);
    expect(await limiter.reset("127.0.0.1")).toBe(true);
    expect((await sendRequest()).status).toBe(200);
  });
});
