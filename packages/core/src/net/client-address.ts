import { isIPv4, isIPv6 } from "node:net";

/** The default size of the IPv6 network that counts as one client: the smallest that providers assign to a customer. */
export const DEFAULT_IPV6_PREFIX = 64;

/** The prefix of a single IPv4 address, which counts by itself unless networks are asked for. */
export const FULL_IPV4_PREFIX = 32;

/** The prefix of a single IPv6 address. */
export const FULL_IPV6_PREFIX = 128;

/** How Node writes the beginning of an IPv4-mapped address, which a server on both protocols sees for every IPv4 client. */
const MAPPED_PREFIX = "::ffff:";

/** The first 96 bits, as six groups, of IPv6 addresses whose last 32 are a client's IPv4 address. */
const IPV4_NETWORKS: readonly (readonly number[])[] = [
  [0, 0, 0, 0, 0, 0xffff], // IPv4-mapped, RFC 4291
  [0, 0, 0, 0, 0xffff, 0], // SIIT, RFC 2765
  [0x64, 0xff9b, 0, 0, 0, 0], // NAT64, RFC 6052
];

/**
 * The subject for a client's address. For an IPv4 address, also one embedded in IPv6 (IPv4-mapped, SIIT, NAT64), it is that
 * address, or its network of `ipv4Prefix` bits; for any other IPv6 address, its network of `ipv6Prefix` bits, without the zone. A
 * port left by a proxy is dropped. Any other text, such as a host name from a proxy, is used unchanged.
 */
export function addressSubject(
  address: string,
  ipv6Prefix: number = DEFAULT_IPV6_PREFIX,
  ipv4Prefix: number = FULL_IPV4_PREFIX,
): string {
  if (ipv4Prefix === FULL_IPV4_PREFIX) {
    if (isIPv4(address)) return address;
    const ipv4 = parseIpv4(address);
    if (ipv4 !== undefined) return ipv4;
  }
  const groups = addressGroups(address);
  if (groups !== undefined) {
    return formatNetwork(groups, groups.length === 2 ? ipv4Prefix : ipv6Prefix);
  }
  // Escape text that could be mistaken for a network.
  return address.includes("/") || address.startsWith("~") ? `~text~${address}` : address;
}

/**
 * A client's address in groups of 16 bits: two for an IPv4 address, also one embedded in IPv6, and eight for any other IPv6
 * address. Undefined for other text.
 */
export function addressGroups(address: string): readonly number[] | undefined {
  const bare = parseIpv4(address) ?? stripAddress(address);
  if (bare === undefined) return undefined;
  if (!bare.includes(":")) return ipv4Groups(bare);
  const groups = ipv6Groups(bare);
  return isEmbeddedIpv4(groups) ? groups.slice(6) : groups;
}

/** An IPv4 address as Node writes it: plain or IPv4-mapped. */
function parseIpv4(address: string): string | undefined {
  if (isIPv4(address)) return address;
  if (!address.startsWith(MAPPED_PREFIX)) return undefined;
  const mapped = address.slice(MAPPED_PREFIX.length);
  return isIPv4(mapped) ? mapped : undefined;
}

/** The address in a text, without its zone and without a port that a proxy appended. */
function stripAddress(text: string): string | undefined {
  const bare = stripPort(text);
  if (isIPv4(bare)) return bare;
  const zone = bare.indexOf("%");
  const withoutZone = zone === -1 ? bare : bare.slice(0, zone);
  return isIPv6(withoutZone) ? withoutZone : undefined;
}

function isEmbeddedIpv4(groups: readonly number[]): boolean {
  return IPV4_NETWORKS.some((network) => network.every((group, i) => group === groups[i]));
}

function stripPort(address: string): string {
  const match = /^(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(address);
  return match?.[1] ?? match?.[2] ?? address;
}

const DOT = 0x2e;
const COLON = 0x3a;
/** The bit that makes a letter lower case. */
const LOWER_CASE = 0x20;

// Runs for every request: splitting the text and parsing the parts takes three times as long.

/** The two groups of 16 bits of a valid IPv4 address. */
export function ipv4Groups(address: string): number[] {
  const bytes: [number, number, number, number] = [0, 0, 0, 0];
  let at = 0;
  for (let i = 0; i < address.length; i += 1) {
    const code = address.charCodeAt(i);
    if (code === DOT) at += 1;
    else bytes[at] = (bytes[at] as number) * 10 + code - 0x30;
  }
  return [bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]];
}

/** The eight groups of 16 bits of a valid IPv6 address without a zone. */
export function ipv6Groups(address: string): number[] {
  // The last two groups may be written as an IPv4 address.
  const hex = address.includes(".") ? withHexEnd(address) : address;
  const groups = [0, 0, 0, 0, 0, 0, 0, 0];
  let at = 0;
  let gap = 8;
  for (let i = 0; i < hex.length; i += 1) {
    const code = hex.charCodeAt(i);
    if (code !== COLON) {
      groups[at] = (groups[at] as number) * 16 + digitOf(code);
    } else {
      if (i > 0) at += 1;
      if (hex.charCodeAt(i + 1) !== COLON) continue;
      gap = at;
      i += 1;
    }
  }
  // Groups after the gap are aligned to the end.
  for (let to = 7; at >= gap && at < to; at -= 1, to -= 1) {
    groups[to] = groups[at] as number;
    groups[at] = 0;
  }
  return groups;
}

function digitOf(code: number): number {
  return code < COLON ? code - 0x30 : (code | LOWER_CASE) - 0x57;
}

function withHexEnd(address: string): string {
  const end = address.lastIndexOf(":") + 1;
  const groups = ipv4Groups(address.slice(end)).map((group) => group.toString(16));
  return address.slice(0, end) + groups.join(":");
}

/** The canonical form of an address of two or eight groups: dotted for IPv4, RFC 5952 for IPv6. */
export function formatAddress(groups: readonly number[]): string {
  if (groups.length === 2) return groups.flatMap((group) => [group >> 8, group & 0xff]).join(".");
  // The first of the longest runs of zeros is left out, unless it is a single zero.
  let [start, length] = [0, 1];
  let run = 0;
  for (const [i, group] of groups.entries()) {
    run = group === 0 ? run + 1 : 0;
    if (run > length) [start, length] = [i + 1 - run, run];
  }
  const hex = groups.map((group) => group.toString(16));
  if (length === 1) return hex.join(":");
  return `${hex.slice(0, start).join(":")}::${hex.slice(start + length).join(":")}`;
}

/**
 * The first `prefix` bits of an address as a network, such as `203.0.113.0/24`; the address alone if the prefix covers all of
 * it.
 */
export function formatNetwork(groups: readonly number[], prefix: number): string {
  const address = formatAddress(groups.map((group, i) => group & ~hostMask(prefix, i)));
  return prefix === groups.length * 16 ? address : `${address}/${prefix}`;
}

/** A mask of the bits in group `i` that lie beyond the first `prefix` bits of an address. */
export function hostMask(prefix: number, i: number): number {
  return 0xffff >> Math.min(16, Math.max(0, prefix - i * 16));
}
