/** Where a request carries the client's address, for key functions that call `byIp()` themselves. */
const ADDRESS: unique symbol = Symbol.for("@headgate/core.address") as never;

interface Carrier {
  [ADDRESS]?: NotedAddress;
}

export interface NotedAddress {
  /** The whole address that is counted; undefined where there is none. */
  readonly address: string | undefined;
  /** The same as key functions are handed it: an IPv6 address as its /64. */
  readonly handed: string | undefined;
}

export function noteAddress(request: object, noted: NotedAddress): void {
  (request as Carrier)[ADDRESS] = noted;
}

export function notedAddress(request: object): NotedAddress | undefined {
  return (request as Carrier)[ADDRESS];
}
