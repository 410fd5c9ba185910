/** How far the server's clock is ahead of this machine's, in milliseconds. */
let offsetMs = Number.NEGATIVE_INFINITY;

/** Records a time of the server's clock from an answer: the clock can only be later by now. */
export function recordServerTime(at: number): void {
  offsetMs = Math.max(offsetMs, at - Date.now());
}

/** Milliseconds since the epoch, by the server's clock; by this machine's before the first answer. */
export function serverNow(): number {
  return Date.now() + (offsetMs === Number.NEGATIVE_INFINITY ? 0 : offsetMs);
}
