import { isIP } from "node:net";
import { addressGroups, formatNetwork, hostMask } from "./client-address.ts";

/** An address as three numbers, most significant first, that sort IPv4 before IPv6. */
type AddressPosition = readonly [high: number, middle: number, low: number];

/** The addresses from `first` to `last`. */
export interface Network {
  readonly first: AddressPosition;
  readonly last: AddressPosition;
}

/** The position of a client's address; undefined for other text. */
export function positionOf(address: string): AddressPosition | undefined {
  const groups = addressGroups(address);
  return groups && toPosition(groups);
}

interface Cidr {
  /** Groups of 16 bits: two of IPv4, eight of IPv6. */
  readonly groups: readonly number[];
  readonly prefix: number;
}

/**
 * Reads an address, or a network with a prefix such as `10.0.0.0/8`; undefined for anything else. IPv4 networks inside IPv6
 * become IPv4 networks.
 */
export function parseNetwork(text: unknown): Network | undefined {
  const written = parseCidr(text);
  if (written === undefined) return undefined;
  const { groups, prefix } = written;
  return {
    first: toPosition(groups.map((group, i) => group & ~hostMask(prefix, i))),
    last: toPosition(groups.map((group, i) => group | hostMask(prefix, i))),
  };
}

/**
 * The canonical form of an address or network, such as `203.0.113.0/24` for `::ffff:203.0.113.7/120`; undefined for anything
 * else.
 */
export function normaliseNetwork(
  text: unknown,
): { readonly network: string; readonly version: 4 | 6; readonly prefix: number } | undefined {
  const written = parseCidr(text);
  if (written === undefined) return undefined;
  const { groups, prefix } = written;
  return { network: formatNetwork(groups, prefix), version: groups.length === 2 ? 4 : 6, prefix };
}

function parseCidr(text: unknown): Cidr | undefined {
  const match = /^([^/%]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(typeof text === "string" ? text : "");
  const [, address = "", bits] = match ?? [];
  const version = isIP(address);
  const groups = version === 0 ? undefined : addressGroups(address);
  if (groups === undefined) return undefined;
  const most = groups.length * 16;
  // The prefix of an IPv4 network embedded in IPv6 includes the 96 bits before it.
  const around = version === 6 ? 128 - most : 0;
  const prefix = bits === undefined ? most : Number(bits) - around;
  return prefix < 0 || prefix > most ? undefined : { groups, prefix };
}

/** One number holds three groups exactly, but not four. */
function toPosition(groups: readonly number[]): AddressPosition {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  if (groups.length === 2) return [join(a, b) - 2 ** 32, 0, 0];
  return [join(join(a, b), c), join(join(d, e), f), join(g, h)];
}

function join(before: number, group: number): number {
  return before * 2 ** 16 + group;
}

/** Whether an address is in a list. Text that is not an address never is. */
export type AddressTest = (address: string) => boolean;

/** The test whether an address is in one of these networks, which are sorted, so that it takes few comparisons. */
export function createNetworkTest(networks: readonly Network[]): AddressTest {
  const sorted = dropContained(networks);
  const firsts = Float64Array.from(sorted.flatMap(({ first }) => first));
  const lasts = Float64Array.from(sorted.flatMap(({ last }) => last));
  return (address) => {
    const position = positionOf(address);
    if (position === undefined) return false;
    const at = lastIndexWhere(sorted.length, (i) => compareAt(firsts, i, position) <= 0);
    return at >= 0 && compareAt(lasts, at, position) >= 0;
  };
}

/**
 * Compares a position with another: negative if it comes before, positive if after. It is read from a list of numbers, three for
 * each position: objects take several times as long.
 */
function compareAt(numbers: ArrayLike<number>, index: number, other: AddressPosition): number {
  const at = 3 * index;
  return (
    (numbers[at] as number) - other[0] ||
    (numbers[at + 1] as number) - other[1] ||
    (numbers[at + 2] as number) - other[2]
  );
}

/** Networks in order, without those that lie inside another. Networks never overlap partly. */
function dropContained(networks: readonly Network[]): readonly Network[] {
  const kept: Network[] = [];
  for (const network of networks.toSorted(compareOuterFirst)) {
    const before = kept.at(-1);
    if (before === undefined || compareAt(before.last, 0, network.last) < 0) kept.push(network);
  }
  return kept;
}

function compareOuterFirst(a: Network, b: Network): number {
  return compareAt(a.first, 0, b.first) || compareAt(b.last, 0, a.last);
}

/**
 * The last index below `count` for which `holds` is true, where `holds` is also true for every index before it; -1 if there is
 * none.
 */
export function lastIndexWhere(count: number, holds: (index: number) => boolean): number {
  let from = 0;
  let to = count;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (holds(middle)) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}
