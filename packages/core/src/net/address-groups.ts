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
