import { positionOf, readNetwork } from "../address/network.ts";
import type { NetworkSet } from "../address/network-set.ts";
import { createNetworkSet } from "../address/network-set.ts";
import type { DeniedNetwork } from "../fleet/control/record.ts";

/** The networks of a deny list that are in force until one of them ends. */
interface InForce {
  readonly networks: NetworkSet;
  /** When the first one ends, in microseconds of the server's clock. */
  readonly until: number;
}

/** Compiled once for each version of the list, and again when an entry ends. */
const compiled = new WeakMap<readonly DeniedNetwork[], InForce>();

/** Whether an address is on a deny list at a time, in microseconds of the server's clock. */
export function isDenied(denied: readonly DeniedNetwork[], address: string, now: number): boolean {
  const position = positionOf(address);
  return position !== undefined && inForceAt(denied, now).networks.has(position);
}

function inForceAt(denied: readonly DeniedNetwork[], now: number): InForce {
  const known = compiled.get(denied);
  if (known !== undefined && now < known.until) return known;
  const lasting = denied.filter(({ until }) => until === null || now < until);
  const networks = lasting.flatMap(({ network }) => readNetwork(network) ?? []);
  const ends = lasting.map(({ until }) => until ?? Number.POSITIVE_INFINITY);
  const inForce = {
    networks: createNetworkSet(networks),
    until: ends.reduce((first, end) => Math.min(first, end), Number.POSITIVE_INFINITY),
  };
  compiled.set(denied, inForce);
  return inForce;
}
