import { BlockList, isIPv4 } from "node:net";
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { Network } from "./network.ts";
import { createNetworkTest, lastIndexWhere, parseNetwork } from "./network.ts";

function testOf(...networks: readonly string[]) {
  return createNetworkTest(networks.map((network) => parseNetwork(network) as Network));
}

/** Few values, so that networks overlap and addresses are found; IPv4 and IPv6. */
const byte = fc.constantFrom(0, 1, 127, 128, 255);
const ipv4 = fc.array(byte, { minLength: 4, maxLength: 4 }).map((bytes) => bytes.join("."));
const ipv6 = fc
  .array(fc.constantFrom("0", "1", "7fff", "8000", "ffff"), { minLength: 8, maxLength: 8 })
  .map((groups) => ["2001", ...groups.slice(1)].join(":"));
const network = fc.oneof(
  fc.tuple(ipv4, fc.integer({ min: 0, max: 32 })),
  // Node takes wider ones for networks of IPv4, too.
  fc.tuple(ipv6, fc.integer({ min: 3, max: 128 })),
);

describe("networks", () => {
  test.prop([fc.array(network, { maxLength: 12 }), fc.array(fc.oneof(ipv4, ipv6))])(
    "include the addresses of Node's BlockList",
    (networks, addresses) => {
      const node = new BlockList();
      const family = (address: string) => (isIPv4(address) ? "ipv4" : "ipv6");
      for (const [address, prefix] of networks) node.addSubnet(address, prefix, family(address));
      const has = testOf(...networks.map((parts) => parts.join("/")));
      for (const address of addresses) {
        expect([address, has(address)]).toEqual([address, node.check(address, family(address))]);
      }
    },
  );

  test.each([
    ["203.0.113.7", ["203.0.113.7"], ["203.0.113.6", "203.0.113.8", "::cb00:7107"]],
    ["203.0.113.7/24", ["203.0.113.0", "203.0.113.255"], ["203.0.112.255", "203.0.114.0"]],
    ["0.0.0.0/0", ["0.0.0.0", "255.255.255.255", "::ffff:1.2.3.4"], ["::", "2001:db8::1"]],
    ["128.0.0.0/1", ["128.0.0.0", "255.255.255.255"], ["127.255.255.255"]],
    ["2001:db8::/33", ["2001:db8:7fff::"], ["2001:db8:8000::", "2001:db7:ffff::"]],
    ["2001:db8::7", ["2001:DB8:0:0::7"], ["2001:db8::6", "2001:db8::8"]],
    ["2001:db8::/127", ["2001:db8::", "2001:db8::1"], ["2001:db8::2"]],
    ["::/0", ["::", "ffff::"], ["1.2.3.4", "::ffff:1.2.3.4"]],
    ["::ffff:10.0.0.0/104", ["10.255.0.1", "64:ff9b::10.0.0.1"], ["11.0.0.0"]],
    ["64:ff9b::a00:0/120", ["10.0.0.255", "::ffff:10.0.0.1"], ["10.0.1.0"]],
    ["::ffff:0:10.0.0.1", ["10.0.0.1"], ["10.0.0.2"]],
  ])("such as %s include %j and not %j", (text, inside, outside) => {
    const has = testOf(text);
    expect([...inside, ...outside].filter(has)).toEqual(inside);
  });

  test("are found inside wider ones, and in an empty set", () => {
    const has = testOf("10.0.0.0/8", "10.1.0.0/16", "10.0.0.0/24", "12.0.0.1", "12.0.0.1");
    expect(has("10.200.0.1")).toBe(true);
    expect(has("12.0.0.1")).toBe(true);
    expect(has("11.0.0.1")).toBe(false);
    expect(testOf()("10.0.0.1")).toBe(false);
  });

  test.each([
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0.0/",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "10.0.0",
    "010.0.0.1",
    "10.0.0.1:80",
    "[::1]",
    "::1/129",
    "::ffff:10.0.0.0/95",
    "64:ff9b::/64",
    "fe80::1%eth0",
    "localhost",
    " 10.0.0.1",
    "",
    10,
    null,
    undefined,
    ["10.0.0.1"],
  ])("are not parsed from %j", (text) => {
    expect(parseNetwork(text)).toBeUndefined();
  });
});

describe("lastIndexWhere", () => {
  test.prop([fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 40 })])(
    "returns the last index for which the condition holds",
    (count, held) => {
      expect(lastIndexWhere(count, (i) => i < held)).toBe(Math.min(count, held) - 1);
    },
  );

  test("needs 14 comparisons among 10,000", () => {
    for (const held of [0, 1, 5_000, 9_999, 10_000]) {
      let comparisons = 0;
      lastIndexWhere(10_000, (i) => {
        comparisons += 1;
        return i < held;
      });
      expect(comparisons).toBeLessThanOrEqual(14);
    }
  });
});
