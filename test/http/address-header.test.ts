import { BlockList } from "node:net";
import { gcra } from "@headgate/core";
import type { AddressOption } from "@headgate/core/http";
import { byIp, combineKeys } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";

const limits = gcra({ limit: 1, window: "1h" });
const header = "CF-Connecting-IP";

describeAdapters(({ serve }) => {
  /** Serves a site that reads the header from these, and asks it with such a header. */
  async function serving(trust: AddressOption["trust"], options: Partial<SharedOptions> = {}) {
    const site = await serve({ limits: { limits, address: { header, trust }, ...options } });
    const from = async (value?: string, more: Record<string, string> = {}) => {
      const headers = value === undefined ? more : { [header]: value, ...more };
      return (await site.sendRequest("/", { headers })).status;
    };
    return { ...site, from };
  }

  test.each<[string, AddressOption["trust"]]>([
    ["an address", ["127.0.0.1"]],
    ["a network", ["10.0.0.0/8", "127.0.0.0/8"]],
    ["a network of IPv4 inside IPv6", ["::ffff:127.0.0.0/104"]],
    ["a net.BlockList", blockListOf("127.0.0.0", 8)],
  ])(
    "clients are counted by the address header if its sender is %s that is trusted",
    async (_, trust) => {
      const { from, warnings } = await serving(trust);
      expect(await from("203.0.113.1")).toBe(200);
      expect(await from("203.0.113.1")).toBe(429);
      expect(await from(" 203.0.113.1 ")).toBe(429);
      expect(await from("::ffff:203.0.113.1")).toBe(429);
      expect(await from("203.0.113.2")).toBe(200);
      expect(await from("2001:db8:1:1::1")).toBe(200);
      expect(await from("2001:db8:1:1::2")).toBe(429);
      expect(warnings).toEqual([]);
    },
  );

  test("an address header from an untrusted peer is ignored, and reported once", async () => {
    const { from, warnings } = await serving(["10.0.0.0/8", "::1"]);
    expect(await from("203.0.113.1")).toBe(200);
    expect(await from("203.0.113.2")).toBe(429);
    expect(warnings).toMatchObject([{ code: "HEADGATE_ADDRESS_HEADER_IGNORED" }]);
    expect(warnings[0]?.message).toContain("127.0.0.1");
  });

  test("an untrusted peer without an address header is not reported", async () => {
    const { from, warnings } = await serving(["10.0.0.0/8"]);
    expect(await from()).toBe(200);
    expect(await from()).toBe(429);
    expect(warnings).toEqual([]);
  });

  test.each([
    undefined,
    "",
    "203.0.113.1, 203.0.113.2",
    "localhost",
    "203.0.113.1:80",
    "1.2.3",
    "[::1]",
  ])(
    "an address header without exactly one address is ignored, and reported once: %j",
    async (value) => {
      const { from, warnings } = await serving(["127.0.0.1"]);
      expect(await from(value)).toBe(200);
      expect(await from(value)).toBe(429);
      expect(await from("203.0.113.9")).toBe(200);
      expect(warnings).toMatchObject([{ code: "HEADGATE_ADDRESS_HEADER_IGNORED" }]);
    },
  );

  test("an address header that was sent twice is ignored", async () => {
    const { sendRequest } = await serving(["127.0.0.1"]);
    const twice = { headers: [header, "203.0.113.1", header, "203.0.113.2"] as never };
    expect((await sendRequest("/", twice)).status).toBe(200);
    expect((await sendRequest()).status).toBe(429);
  });

  test.each<[string, Partial<SharedOptions>]>([
    ["byIp()", { key: byIp() }],
    ['per: "ip"', { limits: gcra({ limit: 1, window: "1h", per: "ip" }) }],
    ["a missing key", { key: () => undefined }],
    ["a key function", { key: (_, address) => address }],
    ["combineKeys", { key: combineKeys<AnyRequest>(byIp(), () => "ann") }],
    ["byIp() in a key function", { key: async (request, address) => byIp()(request, address) }],
    ["byIp() in a key function that hands it nothing", { key: (req) => byIp()(req, undefined) }],
  ])("the address header is read by %s", async (_, options) => {
    const { from } = await serving(["127.0.0.1"], options);
    expect(await from("203.0.113.1")).toBe(200);
    expect(await from("203.0.113.2")).toBe(200);
    expect(await from("203.0.113.1")).toBe(429);
  });

  test("a trusted proxy with its own address header is not reported as an untrusted proxy", async () => {
    const { from, warnings } = await serving(["127.0.0.1"]);
    await from("203.0.113.1", { "x-forwarded-for": "203.0.113.1" });
    expect(warnings).toEqual([]);
  });

  test("a framework that trusts every proxy is not reported if a trusted address header names the client", async () => {
    const site = await serve({
      limits: { limits, address: { header, trust: ["127.0.0.1"] } },
      trustProxy: true,
    });
    await site.sendRequest("/", { headers: { [header]: "203.0.113.1" } });
    expect(site.warnings).toEqual([]);
  });

  test.each([
    [{ header: "not a name", trust: ["10.0.0.1"] }],
    [{ header, trust: [] }],
    [{ header, trust: ["10.0.0.0/33"] }],
    [{ header, trust: ["10.0.0"] }],
    [{ header, trust: ["cdn.example"] }],
    [{ header, trust: ["fe80::1%eth0"] }],
    [{ header, trust: "10.0.0.0/8" }],
    [{ header, trust: [10] }],
    [{ header }],
    [{ trust: ["10.0.0.1"] }],
    [{ header, trust: ["10.0.0.1"], hops: 1 }],
    ["cf-connecting-ip"],
    [null],
  ])("the option address rejects %j", async (address) => {
    await expect(serve({ limits: { limits, address: address as never } })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("address"),
    });
  });
});

function blockListOf(network: string, prefix: number): BlockList {
  const list = new BlockList();
  list.addSubnet(network, prefix, "ipv4");
  return list;
}
