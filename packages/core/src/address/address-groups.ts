const DOT = 0x2e;
const COLON = 0x3a;
/** Turns A to F into a to f. */
const LOWER_CASE = 0x20;

/*
 * Lists of addresses are asked with every request. Splitting texts and having numbers read of them takes three times as long.
 */

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
  // An IPv4 address may stand for the last two.
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
  // What is behind the gap belongs to the end.
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
