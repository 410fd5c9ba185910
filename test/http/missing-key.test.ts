import { gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";

const limits = gcra({ limit: 1, window: "1h" });

const byUser = ({ headers }: AnyRequest) => headers["x-user"] as string | undefined;

const as = (user: string) => ({ headers: { "x-user": user } });

/** What a key function may return when it has nothing to say. */
const nothings = [undefined, null, ""];

describeAdapters(({ serve }) => {
  const serving = (options: Partial<SharedOptions>) =>
    serve({ limits: { limits, key: byUser, ...options }, trustProxy: "loopback" });

  test("a request without a key is counted by address, so that anonymous clients do not share one bucket", async () => {
    const { sendRequest } = await serving({});
    const from = (address: string) => sendRequest("/", { headers: { "x-forwarded-for": address } });
    expect((await from("203.0.113.1")).status).toBe(200);
    expect((await from("203.0.113.1")).status).toBe(429);
    expect((await from("203.0.113.2")).status).toBe(200);
  });

  test("an address that a client sends as its key does not count as that address", async () => {
    const { sendRequest } = await serving({});
    const guesses = [
      "127.0.0.1",
      "ip:127.0.0.1",
      "~ip~127.0.0.1",
      "~~ip~127.0.0.1",
      "undefined",
      "null",
    ];
    for (const guess of guesses) expect((await sendRequest("/", as(guess))).status).toBe(200);
    expect((await sendRequest()).status).toBe(200);
    expect((await sendRequest()).status).toBe(429);
    expect((await sendRequest("/", as("::1"))).status).toBe(200);
  });

  test.each(nothings)("a key of %j counts the address", async (returned) => {
    const { sendRequest } = await serving({ key: () => returned as never });
    expect((await sendRequest()).status).toBe(200);
    expect((await sendRequest()).status).toBe(429);
  });

  test.each(nothings)(
    'missingKey: "reject" responds with 400 to a key of %j, and counts nothing',
    async (returned) => {
      const site = await serving({ missingKey: "reject", key: async () => returned as never });
      const refused = await site.sendRequest();
      expect(refused.status).toBe(400);
      expect(refused.headers["content-type"]).toBe("application/problem+json");
      expect(refused.headers).not.toHaveProperty("retry-after");
      expect(refused.json()).toMatchObject({ status: 400, title: "Bad Request" });
      expect(site.handled).toEqual([]);
    },
  );

  test('missingKey: "reject" counts a request with a key', async () => {
    const { sendRequest } = await serving({ missingKey: "reject" });
    expect((await sendRequest("/", as("ann"))).status).toBe(200);
    expect((await sendRequest("/", as("ann"))).status).toBe(429);
  });

  test("a refused request does not charge limits whose key is present", async () => {
    const { sendRequest } = await serving({
      limits: [limits, gcra({ limit: 5, window: "1h", per: "user", name: "user" })],
      key: { default: () => "all", user: byUser },
      missingKey: "reject",
    });
    expect((await sendRequest()).status).toBe(400);
    expect((await sendRequest("/", as("ann"))).status).toBe(200);
  });

  test.each(nothings)(
    'missingKey: "skip" leaves out only the limit whose key is %j',
    async (returned) => {
      const { sendRequest } = await serving({
        limits: [
          gcra({ limit: 3, window: "1h", per: "user", name: "user" }),
          gcra({ limit: 2, window: "1h", per: "ip", name: "ip" }),
        ],
        key: { user: (request) => byUser(request) ?? (returned as never) },
        missingKey: "skip",
      });
      const anonymous = await sendRequest();
      expect(anonymous.headers["ratelimit"]).toBe('"ip";r=1;t=1800');
      const known = await sendRequest("/", as("ann"));
      expect(known.headers["ratelimit"]).toMatch(/^"user";r=2;t=\d+, "ip";r=0;t=\d+$/);
      expect((await sendRequest()).status).toBe(429);
    },
  );

  test('missingKey: "skip" lets a request without any limit pass without headers', async () => {
    const { sendRequest } = await serving({ missingKey: "skip" });
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await sendRequest();
      expect(status).toBe(200);
      expect(headers).not.toHaveProperty("ratelimit");
    }
  });

  test("missingKey rejects any other value", async () => {
    for (const missing of ["allow", true, null]) {
      await expect(serving({ missingKey: missing as never })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
      });
    }
  });
});
