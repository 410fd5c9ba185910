import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** The network that counts as one IPv6 client when nothing else is said: what a provider gives one customer, at least. */
export const DEFAULT_IPV6_PREFIX = 64;

/** How Node writes the beginning of an IPv4-mapped IPv6 address: what a server that listens on both sees of every IPv4 client. */
const MAPPED = "::ffff:";

/** The first 96 bits, as six groups, of IPv6 addresses whose last 32 are a client's IPv4 address. */
const IPV4_NETWORKS: ReadonlySet<string> = new Set([
  "0:0:0:0:0:ffff", // IPv4-mapped, RFC 4291
  "0:0:0:0:ffff:0", // SIIT, RFC 2765
  "64:ff9b:0:0:0:0", // NAT64, RFC 6052
]);

/**
 * The subject of a client's address: an IPv4 address as it is, also inside an IPv6 address (IPv4-mapped, SIIT, NAT64), any
 * other IPv6 address as its network of `ipv6Prefix` bits, without its zone. A port that a proxy left behind it is dropped.
 * What is no address (a proxy may name a host) is a subject as it stands.
 */
export function addressSubject(address: string, ipv6Prefix: number = DEFAULT_IPV6_PREFIX): string {
  if (isIP(address) === 4) return address;
  if (address.startsWith(MAPPED)) {
    const mapped = address.slice(MAPPED.length);
    if (isIP(mapped) === 4) return mapped;
  }
  const bare = stripPort(address);
  if (isIP(bare) === 4) return bare;
  const withoutZone = bare.replace(/%.*$/s, "");
  if (isIP(withoutZone) === 6) return ipv6Subject(withoutZone, ipv6Prefix);
  // No text may pass for a network.
  return address.includes("/") || address.startsWith("~") ? `~text~${address}` : address;
}

function ipv6Subject(address: string, prefix: number): string {
  // ipaddr.js would take any address whose end is written with dots for an IPv4-mapped one.
  const parsed = ipaddr.IPv6.parse(address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, toGroups));
  const { parts: groups } = parsed;
  if (isIpv4Inside(groups)) return groups.slice(6).flatMap(toBytes).join(".");
  if (prefix === 128) return parsed.toString();
  const parts = groups.map((part, i) => {
    const kept = Math.min(16, Math.max(0, prefix - i * 16));
    return part & (0xffff << (16 - kept));
  });
  return `${new ipaddr.IPv6(parts).toString()}/${prefix}`;
}

function isIpv4Inside(groups: readonly number[]): boolean {
  const network = groups.slice(0, 6).map((group) => group.toString(16));
  return IPV4_NETWORKS.has(network.join(":"));
}

function toBytes(group: number): number[] {
  return [group >> 8, group & 0xff];
}

function toGroups(_: string, a: string, b: string, c: string, d: string): string {
  const group = (high: string, low: string): string =>
    (Number(high) * 256 + Number(low)).toString(16);
  return `${group(a, b)}:${group(c, d)}`;
}

function stripPort(address: string): string {
  const match = /^(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(address);
  return match?.[1] ?? match?.[2] ?? address;
}
