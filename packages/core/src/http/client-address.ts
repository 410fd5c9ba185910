import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** The network that counts as one IPv6 client when nothing else is said: what a provider gives one customer, at least. */
export const DEFAULT_IPV6_PREFIX = 64;

/** How Node writes the beginning of an IPv4-mapped IPv6 address: what a server that listens on both sees of every IPv4 client. */
const MAPPED = "::ffff:";

/** The first 96 bits, as six groups, of IPv6 addresses whose last 32 are a client's IPv4 address. */
const IPV4_NETWORKS: readonly (readonly number[])[] = [
  [0, 0, 0, 0, 0, 0xffff], // IPv4-mapped, RFC 4291
  [0, 0, 0, 0, 0xffff, 0], // SIIT, RFC 2765
  [0x64, 0xff9b, 0, 0, 0, 0], // NAT64, RFC 6052
];

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
  const groups = groupsOf(address);
  if (isIpv4Inside(groups)) return groups.slice(6).flatMap(toBytes).join(".");
  const kept = groups.map(
    (group, i) => group & (0xffff << (16 - Math.min(16, Math.max(0, prefix - i * 16)))),
  );
  const network = new ipaddr.IPv6(kept).toString();
  return prefix === 128 ? network : `${network}/${prefix}`;
}

/** The eight groups of a valid address. */
function groupsOf(address: string): number[] {
  // An IPv4 address may stand for the last two.
  const hex = address.includes(".")
    ? address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, toGroups)
    : address;
  const [before = [], after = []] = hex.split("::").map(toNumbers);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function toNumbers(groups: string): number[] {
  return groups === "" ? [] : groups.split(":").map((group) => Number.parseInt(group, 16));
}

function isIpv4Inside(groups: readonly number[]): boolean {
  return IPV4_NETWORKS.some((network) => network.every((group, i) => group === groups[i]));
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
