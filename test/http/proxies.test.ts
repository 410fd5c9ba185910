import { gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { describeFrameworks } from "./support/describe-frameworks.ts";
import type { Site } from "./support/framework.ts";

const limits = gcra({ limit: 1, window: "1h" });

const via = (forwarded: string) => ({ headers: { "x-forwarded-for": forwarded } });

describeFrameworks(({ serve }) => {
  const serving = async (trustProxy?: Site["trustProxy"]) => {
    const { sendRequest } = await serve({
      limits: { limits },
      ...(trustProxy === undefined ? {} : { trustProxy }),
    });
    return async (forwarded: string) => (await sendRequest("/", via(forwarded))).status;
  };

  test("clients behind a trusted proxy are counted by the forwarded address", async () => {
    const from = await serving("loopback");
    expect(await from("203.0.113.1")).toBe(200);
    expect(await from("203.0.113.1")).toBe(429);
    expect(await from("203.0.113.2")).toBe(200);
  });

  test("the left-most forwarded address, which a client can forge, selects no bucket", async () => {
    const from = await serving("loopback");
    expect(await from("198.51.100.1, 203.0.113.1")).toBe(200);
    expect(await from("198.51.100.2, 203.0.113.1")).toBe(429);
    expect(await from("198.51.100.3, 10.0.0.1, 203.0.113.1")).toBe(429);
  });

  test("a forwarding header from an untrusted peer selects no bucket", async () => {
    const from = await serving();
    expect(await from("203.0.113.1")).toBe(200);
    expect(await from("203.0.113.2")).toBe(429);
    expect(await from("not an address")).toBe(429);
  });

  test("one address in different notations is one client", async () => {
    const from = await serving("loopback");
    expect(await from("203.0.113.1")).toBe(200);
    expect(await from("::ffff:203.0.113.1")).toBe(429);
    expect(await from("::ffff:cb00:7101")).toBe(429);
    expect(await from("::ffff:203.0.113.2")).toBe(200);
  });

  test("IPv6 clients are counted per /64", async () => {
    const from = await serving("loopback");
    expect(await from("2001:db8:1:1::1")).toBe(200);
    expect(await from("2001:db8:1:1:ffff::2")).toBe(429);
    expect(await from("2001:DB8:1:1::3")).toBe(429);
    expect(await from("2001:db8:1:2::1")).toBe(200);
  });

  test("a number of trusted hops forwards the address, too", async () => {
    const from = await serving((_, hop) => hop < 1);
    expect(await from("198.51.100.1, 203.0.113.1")).toBe(200);
    expect(await from("198.51.100.2, 203.0.113.1")).toBe(429);
    expect(await from("203.0.113.2")).toBe(200);
  });

  test("a trust function that throws is an error, neither a crash nor an unlimited request", async () => {
    const site = await serve({
      limits: { limits },
      trustProxy() {
        throw new Error("no list of proxies");
      },
    });
    expect((await site.sendRequest("/", via("203.0.113.1"))).status).toBe(500);
    expect(site.errors).toMatchObject([{ message: "no list of proxies" }]);
    expect(site.handled).toEqual([]);
  });
});
