import { gcra } from "@headgate/core";
import { byHeader, byIp } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { SharedOptions } from "./support/framework.ts";
import { parseFields } from "./support/rate-limit-fields.ts";

const ann = (): string => "ann";

/** Keys that no limit counts by, beside the dimension that one does. */
const UNREAD: readonly (readonly [string, string | undefined, unknown])[] = [
  ["a function beside a limit for everybody", "global", ann],
  ["a function beside a limit that names whom it counts", "ip", ann],
  ["one for a dimension that no limit has", undefined, { user: ann }],
  ["a misspelt one beside the right one", "user", { user: ann, usre: ann }],
  ["one for everybody", "global", { global: ann }],
];

describeAdapters(({ serve }) => {
  test("limits count by their own dimensions, together in one decision", async () => {
    const { sendRequest } = await serve({
      limits: {
        limits: [
          gcra({ limit: 2, window: "1h", per: "tenant", name: "tenant" }),
          gcra({ limit: 3, window: "1h", per: "user", name: "user" }),
        ],
        key: { tenant: byHeader("x-tenant"), user: byHeader("x-user") },
      },
    });
    const as = (tenant: string, user: string) =>
      sendRequest("/", { headers: { "x-tenant": tenant, "x-user": user } });
    const left = async (tenant: string, user: string) =>
      parseFields((await as(tenant, user)).headers["ratelimit"]).map(({ r }) => r);
    expect(await left("acme", "ann")).toEqual([1, 2]);
    expect(await left("acme", "bob")).toEqual([0, 2]);
    // Denied by the tenant's limit, so the user's is not charged.
    expect(await left("acme", "ann")).toEqual([0, 2]);
    expect(await left("other", "ann")).toEqual([1, 1]);
  });

  test('per: "ip" needs no key', async () => {
    const { sendRequest } = await serve({
      limits: { limits: gcra({ limit: 1, window: "1h", per: "ip" }) },
      trustProxy: "loopback",
    });
    const from = (address: string) => sendRequest("/", { headers: { "x-forwarded-for": address } });
    expect((await from("203.0.113.1")).status).toBe(200);
    expect((await from("203.0.113.1")).status).toBe(429);
    expect((await from("203.0.113.2")).status).toBe(200);
  });

  test('per: "global" needs no key, and counts all clients together', async () => {
    const { sendRequest } = await serve({
      limits: {
        limits: [
          gcra({ limit: 9, window: "1h" }),
          gcra({ limit: 2, window: "1h", per: "global", name: "all" }),
        ],
        key: byHeader("x-user"),
      },
    });
    const statuses: number[] = [];
    for (const user of ["ann", "bob", "cid"]) {
      statuses.push((await sendRequest("/", { headers: { "x-user": user } })).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  test('per: "global" alone counts all clients together', async () => {
    const limits = gcra({ limit: 1, window: "1h", per: "global" });
    const { sendRequest } = await serve({ limits: { limits } });
    expect((await sendRequest()).status).toBe(200);
    expect((await sendRequest()).status).toBe(429);
  });

  test.each(UNREAD)("a key that no limit counts by is rejected: %s", async (_, per, key) => {
    const limits = gcra({ limit: 1, window: "1h", per });
    await expect(serve({ limits: { limits, key } as SharedOptions })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("is never read"),
    });
  });

  test('a record of keys may set the key of per: "ip", too', async () => {
    const { sendRequest } = await serve({
      limits: {
        limits: gcra({ limit: 1, window: "1h", per: "ip" }),
        key: { ip: byIp({ ipv6Prefix: 48 }) },
      },
      trustProxy: "loopback",
    });
    const from = (address: string) => sendRequest("/", { headers: { "x-forwarded-for": address } });
    expect((await from("2001:db8:1:1::1")).status).toBe(200);
    expect((await from("2001:db8:1:2::1")).status).toBe(429);
    expect((await from("2001:db8:2:1::1")).status).toBe(200);
  });

  test("byIp counts IPv4 clients by the network that ipv4Prefix says, in every notation", async () => {
    const { sendRequest } = await serve({
      limits: { limits: gcra({ limit: 1, window: "1h" }), key: byIp({ ipv4Prefix: 24 }) },
      trustProxy: "loopback",
    });
    const from = (address: string) => sendRequest("/", { headers: { "x-forwarded-for": address } });
    expect((await from("203.0.113.7")).status).toBe(200);
    expect((await from("203.0.113.255")).status).toBe(429);
    expect((await from("::ffff:203.0.113.1")).status).toBe(429);
    expect((await from("203.0.112.255")).status).toBe(200);
    expect((await from("2001:db8:1:1::1")).status).toBe(200);
    expect((await from("2001:db8:1:2::1")).status).toBe(200);
  });

  const bad: { what: string; options: Partial<SharedOptions> }[] = [
    { what: "a dimension without a key function", options: {} },
    { what: "a key function for another dimension", options: { key: { tenants: byIp() } } },
    { what: "one function for a dimension that has a name", options: { key: byIp() } },
    { what: "a key that is no function", options: { key: { tenant: "x-tenant" } as never } },
    { what: "a key that is a header's name", options: { key: "x-tenant" as never } },
  ];

  test.each(bad)("$what is rejected at construction", async ({ options }) => {
    const limits = gcra({ limit: 1, window: "1h", per: "tenant" });
    await expect(serve({ limits: { limits, ...options } })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringMatching(/key/),
    });
  });

  test("limits without a dimension count by address if the record of keys has no default", async () => {
    const { sendRequest } = await serve({
      limits: {
        limits: [
          gcra({ limit: 1, window: "1h" }),
          gcra({ limit: 9, window: "1h", per: "user", name: "user" }),
        ],
        key: { user: byHeader("x-user") },
      },
    });
    expect((await sendRequest("/", { headers: { "x-user": "ann" } })).status).toBe(200);
    expect((await sendRequest("/", { headers: { "x-user": "bob" } })).status).toBe(429);
  });
});
