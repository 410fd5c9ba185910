import { BlockList, isIP } from "node:net";
import { addressSubject, WHOLE } from "../address/client-address.ts";
import { positionOf, readNetwork } from "../address/network.ts";
import type { NetworkSet } from "../address/network-set.ts";
import { createNetworkSet } from "../address/network-set.ts";

/** Addresses and networks (CIDR) of IPv4 and IPv6. */
export type AddressList = readonly string[] | BlockList;

/** Whether an address is on a list. What is no address is on none. */
export type AddressTest = (address: string) => boolean;

/** What was read of a list, and the entries that it had. */
interface KnownList {
  readonly entries: readonly string[];
  readonly networks: NetworkSet;
}

/** Every route of an application may be given the same list. */
const known = new WeakMap<readonly string[], KnownList>();

/** Reads a list. Throws what `invalid` makes of an entry that is neither address nor network, or of a value that is no list. */
export function readAddressList(
  list: AddressList,
  invalid: (received: unknown) => Error,
): AddressTest {
  // It may be added to while the application runs.
  if (list instanceof BlockList) return (address) => isInBlockList(list, address);
  if (!Array.isArray(list)) throw invalid(list);
  const networks = networksOf(list, invalid);
  return (address) => {
    const position = positionOf(address);
    return position !== undefined && networks.has(position);
  };
}

function networksOf(list: readonly string[], invalid: (received: unknown) => Error): NetworkSet {
  const read = known.get(list);
  if (read !== undefined && isSame(read.entries, list)) return read.networks;
  const entries = [...list];
  const networks = createNetworkSet(
    entries.map((entry) => {
      const network = readNetwork(entry);
      if (network === undefined) throw invalid(entry);
      return network;
    }),
  );
  known.set(list, { entries, networks });
  return networks;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((entry, i) => entry === b[i]);
}

function isInBlockList(list: BlockList, address: string): boolean {
  const whole = addressSubject(address, WHOLE);
  const version = isIP(whole);
  return version !== 0 && list.check(whole, version === 4 ? "ipv4" : "ipv6");
}
