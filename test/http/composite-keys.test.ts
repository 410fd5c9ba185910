import { createLimiter, gcra } from "@headgate/core";
import {
  byHeader,
  byIp,
  combineKeys,
  combineSubjects,
  subjectOfAddress,
  subjectOfHeader,
} from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";

const limits = gcra({ limit: 3, window: "1h" });

/** Twenty clients that one customer of a provider can be. */
const ONE_CUSTOMER = Array.from({ length: 20 }, (_, i) => `2001:db8:1:1::${i + 1}`);

const user = ({ headers }: AnyRequest) => headers["x-user"] as string | undefined;

const COMPOSITES: Readonly<Record<string, SharedOptions["key"]>> = {
  "a text with the address that a key function gets": (request, address) =>
    `${address}:${user(request)}`,
  "combineKeys(byIp(), ...)": combineKeys<AnyRequest>(byIp(), user),
  "combineKeys(..., byIp()), asynchronously": combineKeys<AnyRequest>(
    async (request) => user(request),
    byIp(),
  ),
  "byIp() asked by a key function": async (request, address) =>
    user(request) === "ann" ? byIp()(request, address) : "nobody",
};

describeAdapters(({ serve }) => {
  const from = (address: string, name = "ann") => ({
    headers: { "x-forwarded-for": address, "x-user": name },
  });

  test.each(Object.entries(COMPOSITES))(
    "the IPv6 addresses of one customer do not count as many clients in %s",
    async (_, key) => {
      const { sendRequest } = await serve({ limits: { limits, key }, trustProxy: "loopback" });
      const statuses: number[] = [];
      for (const address of ONE_CUSTOMER)
        statuses.push((await sendRequest("/", from(address))).status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(3);
      expect((await sendRequest("/", from("2001:db8:1:2::1"))).status).toBe(200);
    },
  );

  test.each([
    ["a template", (request: AnyRequest) => `${byIp()(request, request.ip)}:${user(request)}`],
    ["a join", (request: AnyRequest) => [user(request), byHeader("x-user")(request, "")].join()],
    ["JSON", (request: AnyRequest) => JSON.stringify([byIp()(request, request.ip), "ann"])],
    [
      "String()",
      (request: AnyRequest) => String(combineKeys<AnyRequest>(byIp(), user)(request, request.ip)),
    ],
  ])(
    "%s of the result of byIp is an error, so that clients do not share one bucket",
    async (_, key) => {
      const site = await serve({ limits: { limits, key } });
      expect((await site.sendRequest("/", from("1.2.3.4"))).status).toBe(500);
      expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_KEY" }]);
      expect(site.errors[0]?.message).toContain("combineKeys(byIp(), ");
      expect(site.handled).toEqual([]);
    },
  );

  test("byIp counts an address that the application passes to it", async () => {
    const { sendRequest } = await serve({
      limits: { limits, key: (request) => byIp()(request, request.headers["x-user"] as string) },
    });
    const statuses = async (name: string) => {
      const answers = [1, 2, 3, 4].map(() => sendRequest("/", { headers: { "x-user": name } }));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect(await statuses("203.0.113.1")).toEqual([200, 200, 200, 429]);
    expect(await statuses("203.0.113.2")).toEqual([200, 200, 200, 429]);
  });

  test("byIp called in a key function counts the full address by its own prefix", async () => {
    const { sendRequest } = await serve({
      limits: {
        limits,
        key: (request, address) => byIp({ ipv6Prefix: 128 })(request, address),
      },
      trustProxy: "loopback",
    });
    for (const address of ONE_CUSTOMER)
      expect((await sendRequest("/", from(address))).status).toBe(200);
  });

  test("each combination of keys has its own counter, and a request that lacks one of them has no key", async () => {
    const key = combineKeys<AnyRequest>(byIp(), user);
    const { sendRequest } = await serve({
      limits: { limits, key, missingKey: "reject" },
      trustProxy: "loopback",
    });
    const statuses = async (address: string, name: string) => {
      const answers = [1, 2, 3, 4].map(() => sendRequest("/", from(address, name)));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect(await statuses("203.0.113.1", "ann")).toEqual([200, 200, 200, 429]);
    expect(await statuses("203.0.113.1", "bob")).toEqual([200, 200, 200, 429]);
    expect(await statuses("203.0.113.2", "ann")).toEqual([200, 200, 200, 429]);
    expect(await statuses("203.0.113.2", "")).toEqual([400, 400, 400, 400]);
  });

  test("a key in a combination that returns no text is an error that names the dimension", async () => {
    const key = { pair: combineKeys<AnyRequest>(byIp(), (() => 4.2) as never) };
    const site = await serve({ limits: { limits: gcra({ ...limits, per: "pair" }), key } });
    expect((await site.sendRequest()).status).toBe(500);
    expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_KEY", cause: 4.2 }]);
    expect(site.errors[0]?.message).toContain(
      'the key of "pair" must be a string or a whole number, got a fraction',
    );
  });

  test.each<[string, SharedOptions["key"], string]>([
    ["an address", byIp(), subjectOfAddress("2001:db8:1:1::7")],
    [
      "an address of a larger network",
      byIp({ ipv6Prefix: 48 }),
      subjectOfAddress("2001:db8:1::9", { ipv6Prefix: 48 }),
    ],
    ["a header", byHeader("x-user"), subjectOfHeader("x-user", "ann")],
    [
      "a header and a secret",
      byHeader("X-User", { hashSecret: "s" }),
      subjectOfHeader("x-user", "ann", { hashSecret: "s" }),
    ],
    [
      "address and account",
      combineKeys<AnyRequest>(byIp(), user),
      combineSubjects(subjectOfAddress("2001:db8:1:1::7"), "ann"),
    ],
  ])("a client counted by %s can be reset without a request", async (_, key, subject) => {
    const limiter = createLimiter({ limits });
    const { sendRequest } = await serve({ limits: { limiter, key }, trustProxy: "loopback" });
    const one = from("2001:db8:1:1::1");
    for (const status of [200, 200, 200, 429])
      expect((await sendRequest("/", one)).status).toBe(status);
    expect(await limiter.reset(subject)).toBe(true);
    expect((await sendRequest("/", one)).status).toBe(200);
  });
});
