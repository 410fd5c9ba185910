import { invalidOption, invalidValue } from "../common/errors.ts";
import type { DeniedNetwork } from "../control/record.ts";
import { isActive } from "../control/record.ts";
import { createNetworkSet, normaliseNetwork, parseNetwork, positionOf } from "../net/network.ts";

/** The shortest prefixes: a wider network is a large part of the internet, and rejected as a mistake. */
const MIN_PREFIX = { 4: 8, 6: 16 } as const;

/** The longest reason, in characters: every process reads it. */
const MAX_REASON_CHARACTERS = 200;

/** Checks an address or network, and returns its canonical form. Throws `HEADGATE_INVALID_OPTION`. */
export function readNetworkOption(text: string): string {
  const read = normaliseNetwork(text);
  if (read === undefined) {
    throw invalidValue(
      'network must be an address or a network, like "203.0.113.7" or "2001:db8::/32"',
      text,
    );
  }
  const { network, version, prefix } = read;
  if (prefix >= MIN_PREFIX[version]) return network;
  throw invalidValue(
    `network must have a prefix of at least ${MIN_PREFIX[version]} for IPv${version}`,
    text,
  );
}

/** Throws `HEADGATE_INVALID_OPTION` for a reason that is too long for the record. */
export function requireShortReason(reason: string | undefined): void {
  if (reason === undefined || reason.length <= MAX_REASON_CHARACTERS) return;
  throw invalidOption(
    `reason must have at most ${MAX_REASON_CHARACTERS} characters on the deny list, which all processes read, got ${reason.length}`,
  );
}

/** The entries in force at a time in microseconds; with an address, those that contain it. Throws `HEADGATE_INVALID_OPTION`. */
export function activeEntries(
  denied: readonly DeniedNetwork[],
  now: number,
  address: string | undefined,
): readonly DeniedNetwork[] {
  const active = denied.filter((one) => isActive(one, now));
  if (address === undefined) return active;
  const position = positionOf(address);
  if (position === undefined) {
    throw invalidValue("address must be an IP address", address);
  }
  return active.filter(({ network }) => {
    const read = parseNetwork(network);
    return read !== undefined && createNetworkSet([read]).has(position);
  });
}
