import { fc, test } from "@fast-check/vitest";
import ipaddr from "ipaddr.js";
import { expect } from "vitest";
import { addressGroups, addressSubject, formatAddress } from "./client-address.ts";

const ADDRESSES = process.env["HEADGATE_LONG"] === "1" ? 1_000_000 : 25_000;

/** Whole numbers from 0 to below a bound, the same for a seed. fast-check alone takes ten times as long. */
type Random = (bound: number) => number;

function randomOf(seed: number): Random {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) % bound;
  };
}

const pick = <Item>(random: Random, items: readonly Item[]) => items[random(items.length)] as Item;

function randomGroups(random: Random): number[] {
  return Array.from({ length: 8 }, () => pick(random, [0, 0, 0, 1, 0xffff, random(0x10000)]));
}

/** An address in one of its notations. */
function randomAddress(random: Random): string {
  const groups = randomGroups(random);
  const hex = groups.map((group) => group.toString(16));
  const dotted = formatAddress(groups.slice(6));
  const ipv6 = [
    hex.join(":"),
    formatAddress(groups),
    `${hex.slice(0, 6).join(":")}:${dotted}`,
    ...["::ffff:", "::ffff:0:", "64:ff9b::", "::"].map((network) => network + dotted),
  ];
  return pick(random, [dotted, `${pick(random, ipv6)}%eth0`, pick(random, ipv6)]);
}

/** The address with a character too many, too few, or another. */
function spoil(text: string, random: Random): string {
  const at = random(text.length + 1);
  const put = pick(random, ["", ":", ".", "0", "f", "9", "g", "%"]);
  return text.slice(0, at) + put + text.slice(at + random(2));
}

/**
 * As ipaddr.js reads it, but for the forms of IPv4 that no client has: octal, hexadecimal, fewer than four parts. An IPv4 address
 * at the end is replaced by groups, because ipaddr.js takes `::1.2.3.4` for IPv4-mapped.
 */
function readByPeer(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const address = text.includes(":") ? (text.split("%", 1)[0] ?? "") : text;
  const end = address.lastIndexOf(":") + 1;
  const isDotted = address.includes(".", end);
  if (isDotted && !ipaddr.IPv4.isValidFourPartDecimal(address.slice(end))) return undefined;
  if (end === 0) return isDotted ? ipaddr.IPv4.parse(address) : undefined;
  const [a = 0, b = 0, c = 0, d = 0] = address.slice(end).split(".").map(Number);
  const groups = [a * 256 + b, c * 256 + d].map((group) => group.toString(16)).join(":");
  const hex = isDotted ? address.slice(0, end) + groups : address;
  return ipaddr.IPv6.isValid(hex) ? ipaddr.IPv6.parse(hex) : undefined;
}

/** The first six groups of the networks in which IPv6 holds IPv4. */
const IPV4_NETWORKS = ["0,0,0,0,0,65535", "0,0,0,0,65535,0", "100,65435,0,0,0,0"];

function unwrap(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address instanceof ipaddr.IPv4) return address;
  const isInside = IPV4_NETWORKS.includes(address.parts.slice(0, 6).join());
  return isInside ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
}

const once = { numRuns: 1, endOnFailure: true };
const WITHIN_MS = 600_000;

test.prop([fc.integer()], once)(
  "addresses are formatted as by ipaddr.js",
  (seed) => {
    const random = randomOf(seed);
    for (let i = 0; i < ADDRESSES; i += 1) {
      const groups = randomGroups(random);
      const expected = new ipaddr.IPv6(groups).toString();
      if (formatAddress(groups) !== expected) expect(formatAddress(groups)).toBe(expected);
    }
  },
  WITHIN_MS,
);

test.prop([fc.integer()], once)(
  "an address counts as the network that ipaddr.js reads, for every prefix of IPv4 and IPv6",
  (seed) => {
    const random = randomOf(seed);
    for (let i = 0; i < ADDRESSES / 10; i += 1) {
      const text = randomAddress(random);
      const [ipv4Prefix, ipv6Prefix] = [1 + random(32), 1 + random(128)];
      const peer = readByPeer(text);
      if (peer === undefined) continue;
      const address = unwrap(peer);
      const isIpv4 = address instanceof ipaddr.IPv4;
      const [prefix, whole] = isIpv4 ? [ipv4Prefix, 32] : [ipv6Prefix, 128];
      const network = (isIpv4 ? ipaddr.IPv4 : ipaddr.IPv6)
        .networkAddressFromCIDR(`${address}/${prefix}`)
        .toString();
      const expected = prefix === whole ? network : `${network}/${prefix}`;
      const subject = addressSubject(text, ipv6Prefix, ipv4Prefix);
      if (subject !== expected) expect([text, subject]).toEqual([text, expected]);
    }
  },
  WITHIN_MS,
);

test.prop([fc.integer()], once)(
  "texts are parsed as by ipaddr.js",
  (seed) => {
    const random = randomOf(seed);
    let addresses = 0;
    for (let i = 0; i < ADDRESSES; i += 1) {
      const address = randomAddress(random);
      const text = i % 2 === 0 ? address : spoil(address, random);
      const peer = readByPeer(text.replace(/^([\d.]+):\d+$/, "$1"));
      const expected = peer && unwrap(peer).toString();
      const groups = addressGroups(text);
      const read = groups && formatAddress(groups);
      if (read !== expected) expect([text, read]).toEqual([text, expected]);
      if (expected === undefined) continue;
      addresses += 1;
      if (addressSubject(text, 128) !== expected) {
        expect([text, addressSubject(text, 128)]).toEqual([text, expected]);
      }
    }
    expect(addresses).toBeGreaterThan(ADDRESSES / 2);
    expect(addresses).toBeLessThan(ADDRESSES * 0.9);
  },
  WITHIN_MS,
);
