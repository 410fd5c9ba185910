// Stands in for the parts of Node that `@headgate/core` imports when it counts in memory. Nothing here decides.

/** A channel without subscribers. */
export function channel(name: string) {
  return { name, hasSubscribers: false, publish() {}, subscribe() {}, unsubscribe: () => false };
}

export class AsyncResource {
  runInAsyncScope<Args extends unknown[], Result>(
    run: (...args: Args) => Result,
    self?: unknown,
    ...args: Args
  ): Result {
    return run.apply(self, args);
  }
}

export const inspect = String;

/** The store in memory names its counters by a hash of their limit; it need not be a secure one. */
export function createHash() {
  let text = "";
  const hash = {
    update(part: string) {
      text += part;
      return hash;
    },
    digest: () =>
      [...text].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) >>> 0, 7).toString(36),
  };
  return hash;
}

// For keys of requests, of which the playground has none.
export const isIP = () => 0;
export const isIPv4 = () => false;
export const isIPv6 = () => false;
export const createHmac = () => createHash();
