/** How far the server's clock is ahead of this machine's, in milliseconds. */
let offsetMs = Number.NEGATIVE_INFINITY;

/** Records the server's time from a response: the server's clock cannot be earlier than that now. */
export function recordServerTime(at: number): void {
  offsetMs = Math.max(offsetMs, at - Date.now());
}

/** Milliseconds since the epoch, by the server's clock; by this machine's clock before the first response. */
export function serverNow(): number {
  return Date.now() + (offsetMs === Number.NEGATIVE_INFINITY ? 0 : offsetMs);
}
