import { isIPv4, isIPv6 } from "node:net";
import { formatNetwork, ipv4Groups, ipv6Groups } from "./address-groups.ts";

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
