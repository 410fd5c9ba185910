import { describe, expect, test } from "vitest";
import { likelySource, mayComeFrom, registeredSource, usesOf } from "./resolve-subjects.ts";

const BY_64 = { by: "ip", ipv6Prefix: 64 } as const;

describe("the source of a subject", () => {
  test("is the listed one, also of a dimension named like a property of every object", () => {
    const use = { keys: { default: BY_64 }, missingKey: "reject" } as const;
    expect(registeredSource(use, "default")).toBe(BY_64);
    expect(registeredSource(use, "constructor")).toBeUndefined();
  });

  test("is unknown for a limiter without uses", () => {
    expect(usesOf({ uses: [] })).toEqual([{ keys: {}, missingKey: "reject" }]);
  });

  test.each([
    ["an address, of the only dimension", "default", true, { ip: "203.0.113.7" }, BY_64],
    ["an address, of one of several", "default", false, { ip: "203.0.113.7" }, { by: "function" }],
    ["a dimension called ip", "ip", false, {}, BY_64],
    [
      "a header, of the only dimension",
      "tenant",
      true,
      { header: { name: "x-key", value: "k" } },
      { by: "header", name: "x-key", hash: "sha256" },
    ],
    [
      "a header and a secret",
      "tenant",
      true,
      { header: { name: "x-key", value: "k" }, hasHashSecret: true },
      { by: "header", name: "x-key", hash: "hmac" },
    ],
    [
      "a header, of one of several",
      "a",
      false,
      { header: { name: "b", value: "k" } },
      { by: "function" },
    ],
  ])("is guessed from %s", (_, dimension, isAlone, client, source) => {
    expect(likelySource(dimension, isAlone, { hasHashSecret: false, ...client })).toEqual(source);
  });
});

test.each([
  ["203.0.113.0/24", true],
  ["203.0.113.0/25", false],
  ["203.0.113.7", false],
  ["2001:db8::/24", false],
  ["2001:db8::/64", true],
])("%s may come from an IPv4 network of 24 bits or an IPv6 one of 64: %s", (subject, may) => {
  expect(mayComeFrom({ ...BY_64, ipv4Prefix: 24 }, subject)).toBe(may);
});

test.each([
  ["203.0.113.7", true],
  ["203.0.113.0/24", false],
  ["2001:db8::/64", true],
  ["2001:db8::/48", false],
  ["2001:db8::7", false],
  ["::ffff:203.0.113.7", false],
  ["ada", false],
  ["~ip~203.0.113.7", true],
])("%s may come from an address: %s", (subject, may) => {
  expect(mayComeFrom(BY_64, subject)).toBe(may);
  expect(mayComeFrom({ by: "function" }, subject)).toBe(true);
  const header = { by: "header", name: "x-key", hash: "sha256" } as const;
  expect(mayComeFrom(header, subject)).toBe(subject.startsWith("~"));
});
