/** Where a request carries the client's address, for key functions that call `byIp()` themselves. */
const ADDRESS: unique symbol = Symbol.for("@headgate/core.address") as never;

interface Carrier {
  [ADDRESS]?: NotedAddress;
}

export interface NotedAddress {
  /** The whole address that is counted; undefined where there is none. */
  readonly address: string | undefined;
}

export function noteAddress(request: object, address: string | undefined): void {
  (request as Carrier)[ADDRESS] = { address };
}

export function notedAddress(request: object): NotedAddress | undefined {
  return (request as Carrier)[ADDRESS];
}
