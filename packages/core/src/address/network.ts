import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { addressGroups } from "./client-address.ts";

/** Where an address stands among all, as three numbers, the first of which counts most: those of IPv4 before those of IPv6. */
export interface Position {
  readonly high: number;
  readonly middle: number;
  readonly low: number;
}

/** The addresses from `first` to `last`. */
export interface Network {
  readonly first: Position;
  readonly last: Position;
}

/** Where a client's address stands; undefined for what is no address. */
export function positionOf(address: string): Position | undefined {
  const groups = addressGroups(address);
  return groups && toPosition(groups);
}

/** An address or a network as it was written. */
interface WrittenNetwork {
  /** Groups of 16 bits: two of IPv4, eight of IPv6. */
  readonly groups: readonly number[];
  readonly prefix: number;
}

/**
 * Reads an address, or a network with a prefix such as `10.0.0.0/8`; undefined for what is neither. Networks of IPv4 inside IPv6
 * are those of IPv4.
 */
export function readNetwork(text: unknown): Network | undefined {
  const written = parseNetwork(text);
  if (written === undefined) return undefined;
  const { groups, prefix } = written;
  return {
    first: toPosition(groups.map((group, i) => group & ~restOf(i, prefix))),
    last: toPosition(groups.map((group, i) => group | restOf(i, prefix))),
  };
}

/** An address or network in its one form, such as `203.0.113.0/24` for `::ffff:203.0.113.7/120`; undefined for what is neither. */
export function normaliseNetwork(
  text: unknown,
): { readonly network: string; readonly version: 4 | 6; readonly prefix: number } | undefined {
  const written = parseNetwork(text);
  if (written === undefined) return undefined;
  const { groups, prefix } = written;
  const first = groups.map((group, i) => group & ~restOf(i, prefix));
  const isIPv4 = groups.length === 2;
  const address = isIPv4
    ? first.flatMap((group) => [group >> 8, group & 0xff]).join(".")
    : new ipaddr.IPv6(first).toString();
  const network = prefix === groups.length * 16 ? address : `${address}/${prefix}`;
  return { network, version: isIPv4 ? 4 : 6, prefix };
}

function parseNetwork(text: unknown): WrittenNetwork | undefined {
  const match = /^([^/%]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(typeof text === "string" ? text : "");
  const [, address = "", bits] = match ?? [];
  const version = isIP(address);
  const groups = version === 0 ? undefined : addressGroups(address);
  if (groups === undefined) return undefined;
  const most = groups.length * 16;
  // Of IPv4 inside IPv6 the prefix counts what is around it, too.
  const around = version === 6 ? 128 - most : 0;
  const prefix = bits === undefined ? most : Number(bits) - around;
  return prefix < 0 || prefix > most ? undefined : { groups, prefix };
}

/** The bits of the group at `i` that are behind the first `prefix` bits of an address. */
function restOf(i: number, prefix: number): number {
  return 0xffff >> Math.min(16, Math.max(0, prefix - i * 16));
}

/** A number holds three groups exactly, but not four. */
function toPosition(groups: readonly number[]): Position {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  if (groups.length === 2) return { high: join(a, b) - 2 ** 32, middle: 0, low: 0 };
  return { high: join(join(a, b), c), middle: join(join(d, e), f), low: join(g, h) };
}

function join(before: number, group: number): number {
  return before * 2 ** 16 + group;
}

/** Below zero where `a` comes before `b`, above where it comes after. */
export function compare(a: Position, b: Position): number {
  return a.high - b.high || a.middle - b.middle || a.low - b.low;
}
