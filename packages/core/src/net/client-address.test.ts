import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { addressSubject, DEFAULT_IPV6_PREFIX } from "./client-address.ts";

const ipv4 = fc.nat(0xffffffff).map(BigInt);

/** The first 96 bits of addresses that hold an IPv4 client, by who writes an address so. */
const IPV4_NETWORKS = {
  "IPv4-mapped": 0xffffn,
  SIIT: 0xffff0000n,
  NAT64: fromGroups([0x64, 0xff9b, 0, 0, 0, 0]),
};

function isIpv4InIpv6(address: bigint): boolean {
  return Object.values(IPV4_NETWORKS).includes(address >> 32n);
}

/** Eight groups, with the zeros and ones that make notations differ; some are little more than an IPv4 address. */
const ipv6 = fc
  .oneof(
    {
      arbitrary: fc
        .array(fc.oneof(fc.constantFrom(0, 0, 1, 0xffff), fc.nat(0xffff)), {
          minLength: 8,
          maxLength: 8,
        })
        .map(fromGroups),
      weight: 3,
    },
    { arbitrary: ipv4, weight: 1 },
  )
  .filter((address) => !isIpv4InIpv6(address));

function fromGroups(groups: readonly number[]): bigint {
  return groups.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n);
}

function groupsOf(address: bigint): number[] {
  return Array.from({ length: 8 }, (_, i) => Number((address >> BigInt(112 - i * 16)) & 0xffffn));
}

function dotted(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join(".");
}

/** The first `prefix` bits, by one shift there and back, as no group can do it. */
function networkOf(address: bigint, prefix: number): bigint {
  const rest = BigInt(128 - prefix);
  return (address >> rest) << rest;
}

/** Written by another serializer of RFC 5952 than the code's: that of URLs. */
function canonical(address: bigint): string {
  const text = groupsOf(address)
    .map((group) => group.toString(16))
    .join(":");
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}

/** One of the many ways to write an IPv6 address. */
interface Notation {
  readonly padding: number;
  readonly isUpper: boolean;
  readonly endsDotted: boolean;
  /** Which run of zeros is left out, if there is one; undefined for none. */
  readonly leftOut: number | undefined;
  readonly zone: string;
  readonly isBracketed: boolean;
}

const notation: fc.Arbitrary<Notation> = fc.record({
  padding: fc.integer({ min: 1, max: 4 }),
  isUpper: fc.boolean(),
  endsDotted: fc.boolean(),
  leftOut: fc.option(fc.nat(7), { nil: undefined }),
  zone: fc.constantFrom("", "", "%eth0", "%1", "%en-0.5", "%br_lan"),
  isBracketed: fc.boolean(),
});

function write(address: bigint, how: Notation): string {
  const groups = groupsOf(address);
  const tail = how.endsDotted ? groups.splice(6, 2) : [];
  const words = groups.map((group) => group.toString(16).padStart(how.padding, "0"));
  const start = how.leftOut === undefined ? -1 : groups.indexOf(0, how.leftOut);
  const isShort = start >= 0;
  let end = start;
  while (isShort && groups[end] === 0) end += 1;
  const last = tail.length > 0 ? [dotted(address & 0xffffffffn)] : [];
  const plain = isShort
    ? `${words.slice(0, start).join(":")}::${[...words.slice(end), ...last].join(":")}`
    : [...words, ...last].join(":");
  const text = `${how.isUpper ? plain.toUpperCase() : plain}${how.zone}`;
  return how.isBracketed ? `[${text}]:443` : text;
}

describe("an IPv4 address", () => {
  test.prop([ipv4])("is its own subject", (address) => {
    expect(addressSubject(dotted(address))).toBe(dotted(address));
  });

  test.prop([ipv4, fc.integer({ min: 1, max: 65_535 })])(
    "with any port that a proxy appended is the same client",
    (address, port) => {
      expect(addressSubject(`${dotted(address)}:${port}`)).toBe(dotted(address));
    },
  );

  test.each([
    "::ffff:1.2.3.4",
    "::FFFF:1.2.3.4",
    "::ffff:102:304",
    "::ffff:0102:0304",
    "::FfFf:102:304",
    "0:0:0:0:0:ffff:1.2.3.4",
    "0:0:0:0:0:ffff:102:304",
    "0000:0000:0000:0000:0000:ffff:0102:0304",
    "0::ffff:102:304",
    "0:0::0:ffff:102:304",
    "::ffff:1.2.3.4%eth0",
    "::ffff:102:304%1",
    "[::ffff:1.2.3.4]",
    "[::ffff:1.2.3.4]:5678",
    "::ffff:0:1.2.3.4",
    "::FFFF:0:102:304",
    "0:0:0:0:ffff:0:1.2.3.4",
    "::ffff:0:1.2.3.4%eth0",
    "[::ffff:0:102:304]:5678",
    "64:ff9b::1.2.3.4",
    "64:ff9b::102:304",
    "64:FF9B::0102:0304",
    "0064:ff9b:0:0:0:0:1.2.3.4",
    "64:ff9b::1.2.3.4%eth0",
    "[64:ff9b::1.2.3.4]",
    "[64:ff9b::102:304]:5678",
  ])("in the form %s has a subject of its own", (held) => {
    for (const prefix of [1, 32, 64, 96, 128]) expect(addressSubject(held, prefix)).toBe("1.2.3.4");
  });

  test.prop([
    fc.constantFrom(...Object.values(IPV4_NETWORKS)),
    ipv4,
    notation,
    fc.integer({ min: 1, max: 128 }),
  ])(
    "embedded in any IPv6 notation is itself, whatever the prefix",
    (network, address, how, prefix) => {
      expect(addressSubject(write((network << 32n) | address, how), prefix)).toBe(dotted(address));
    },
  );
});

describe("an IPv6 address", () => {
  test.each([
    ["2001:db8::1", "2001:db8::/64"],
    ["2001:DB8:0:0:ffff:ffff:ffff:ffff", "2001:db8::/64"],
    ["2001:db8:0:1::1", "2001:db8:0:1::/64"],
    ["::1", "::/64"],
    ["::", "::/64"],
    ["fe80::1%eth0", "fe80::/64"],
    ["fe80::1%2", "fe80::/64"],
    ["fe80::1%br_lan", "fe80::/64"],
    ["[2001:db8::1]:443", "2001:db8::/64"],
    ["[fe80::1%eth0]:443", "fe80::/64"],
    ["[2001:db8::1]", "2001:db8::/64"],
  ])("%s counts as its network %s", (address, subject) => {
    expect(addressSubject(address)).toBe(subject);
    expect(DEFAULT_IPV6_PREFIX).toBe(64);
  });

  test("is not keyed by its last 32 bits, which a client can choose", () => {
    const subject = addressSubject("2001:db8::1");
    expect(addressSubject("2001:db8::1.2.3.4")).toBe(subject);
    expect(addressSubject("2001:db8::4.3.2.1")).toBe(subject);
    expect(addressSubject("2001:db8:0:1::1.2.3.4")).not.toBe(subject);
  });

  test("that ends like an IPv4 address outside of the embedding networks is no IPv4 address", () => {
    expect(addressSubject("::1.2.3.4")).toBe("::/64");
    expect(addressSubject("::1.2.3.4", 128)).toBe("::102:304");
    expect(addressSubject("::fffe:1.2.3.4")).toBe("::/64");
    expect(addressSubject("1::ffff:1.2.3.4")).toBe("1::/64");
    expect(addressSubject("::fffe:0:1.2.3.4")).toBe("::/64");
    expect(addressSubject("64:ff9a::1.2.3.4")).toBe("64:ff9a::/64");
    // The prefix of RFC 8215 is for a network's own use: where in it an IPv4 address is, only that network knows.
    expect(addressSubject("64:ff9b:1::1.2.3.4")).toBe("64:ff9b:1::/64");
  });

  test.prop([fc.constantFrom(...Object.values(IPV4_NETWORKS)), fc.nat(95), ipv4, notation])(
    "with one different bit in an embedding network is no IPv4 client",
    (network, bit, end, how) => {
      const other = network ^ (1n << BigInt(bit));
      fc.pre(!isIpv4InIpv6(other << 32n));
      expect(addressSubject(write((other << 32n) | end, how))).toMatch(/:.*\/64$/);
    },
  );

  test("is itself at a prefix of 128, and its highest bit at a prefix of 1", () => {
    expect(addressSubject("2001:DB8::0001%eth0", 128)).toBe("2001:db8::1");
    expect(addressSubject("7fff::1", 1)).toBe("::/1");
    expect(addressSubject("8000::1", 1)).toBe("8000::/1");
    expect(addressSubject("ffff::1", 1)).toBe("8000::/1");
  });

  test.prop([ipv6, notation, fc.integer({ min: 1, max: 128 })], { numRuns: 1_500 })(
    "is its network in every notation",
    (address, how, prefix) => {
      const network = canonical(networkOf(address, prefix));
      const subject = prefix === 128 ? network : `${network}/${prefix}`;
      expect(addressSubject(write(address, how), prefix)).toBe(subject);
    },
  );

  test.prop(
    [ipv6, ipv6, fc.nat(127), fc.boolean(), notation, notation, fc.integer({ min: 1, max: 128 })],
    {
      numRuns: 1_500,
    },
  )(
    "shares a subject exactly with addresses of the same prefix",
    (one, stranger, bit, isNear, how, howOther, prefix) => {
      const other = isNear ? one ^ (1n << BigInt(bit)) : stranger;
      fc.pre(!isIpv4InIpv6(other));
      const areOne = networkOf(one, prefix) === networkOf(other, prefix);
      const subjects = [
        addressSubject(write(one, how), prefix),
        addressSubject(write(other, howOther), prefix),
      ];
      expect(subjects[0] === subjects[1]).toBe(areOne);
    },
  );

  test.prop([ipv6, ipv4, notation, fc.integer({ min: 1, max: 128 })])(
    "outside of the embedding networks is never an IPv4 client",
    (address, other, how, prefix) => {
      expect(addressSubject(write(address, how), prefix)).not.toBe(dotted(other));
      expect(addressSubject(write(address, how), prefix)).toContain(":");
    },
  );
});

/** Texts that a proxy may send instead of an address. */
const NO_ADDRESSES = [
  "1.2.3",
  "1.2",
  "1",
  "16909060",
  "0x7f.1",
  "0x01020304",
  "127.1",
  "1.2.3.4.5",
  "1.2.3.256",
  "01.2.3.4",
  "1.2.3.4/32",
  "1.2.3.4 ",
  " 1.2.3.4",
  "1.2.3.4\n",
  "1.2.3.4\0",
  "1.2.3.4:",
  "1.2.3.4:x",
  "1.2.3.4:1:2",
  "1.2.3.4, 5.6.7.8",
  "{1.2.3.4}",
  "}:1.2.3.4",
  "[1.2.3.4",
  "1.2.3.4%eth0",
  "::ffff:1.2.3.4:80x",
  "::ffff:1.2.3",
  "::ffff:1.2.3.4.5",
  "2001:db8::/64",
  "2001:db8::1/64",
  "::/64",
  "2001:db8:::1",
  "[2001:db8::1",
  "2001:db8::1]",
  "[2001:db8::1]x",
  "[[2001:db8::1]]",
  "[]",
  "[]:443",
  "%eth0",
  "[%eth0]",
  ":",
  ":::",
  "unknown",
  "_hidden",
  "_SEVKISEK",
  "localhost",
  "client.example.com",
  "constructor",
  "__proto__",
  "~ip~1.2.3.4",
  "~sha256~x",
  "\u{1f4a7}",
  "\ud800",
  "\udfff",
  "\0",
  "\x7f",
  "１.２.３.４",
  "1．2．3．4",
  "x".repeat(100_000),
  "1.2.3.4".repeat(10_000),
  "[".repeat(10_000),
  ":".repeat(10_000),
  "%".repeat(10_000),
  `${"1".repeat(50_000)}.2.3.4:80`,
];

describe("a text that is no address", () => {
  /** Every address that one of the texts resembles, and some. */
  const clients = ["1.2.3.4", "127.0.0.1", "1.2.0.3", "0.0.0.1", "2001:db8::1", "::1", "fe80::1"];

  test.each(NO_ADDRESSES.map((text) => [JSON.stringify(text.slice(0, 30)), text]))(
    "%s is a subject, and that of no client",
    (_, text) => {
      const subject = addressSubject(text);
      expect(subject).not.toBe("");
      for (const client of clients) {
        for (const prefix of [32, 64, 128]) {
          expect(addressSubject(text, prefix)).not.toBe(addressSubject(client, prefix));
        }
      }
    },
  );

  test("is a client of its own", () => {
    const subjects = NO_ADDRESSES.map((text) => addressSubject(text));
    expect(new Set(subjects).size).toBe(NO_ADDRESSES.length);
  });

  test("is a client if it is a host name", () => {
    expect(addressSubject("client.example.com")).toBe("client.example.com");
    expect(addressSubject("_hidden")).toBe("_hidden");
  });

  const fragments = fc.constantFrom(
    ..."0123456789abcfF.:%[]/{}~ \n\0",
    "::",
    "ffff",
    "1.2.3.4",
    "2001:db8",
    "%eth0",
    ":443",
    "/64",
    "\ud800",
    "\u{1f4a7}",
  );

  test.prop([fc.string({ unit: fragments, maxLength: 14 }), fc.integer({ min: 1, max: 128 })], {
    numRuns: 5_000,
  })("never throws, and has an empty subject only if it is empty", (text, prefix) => {
    expect(addressSubject(text, prefix) === "").toBe(text === "");
  });

  test("is handled in linear time", () => {
    const started = performance.now();
    for (const text of NO_ADDRESSES) for (let i = 0; i < 10; i += 1) addressSubject(text);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
