/** How far the server's clock is ahead of this machine's, in milliseconds. */
let ahead = Number.NEGATIVE_INFINITY;

/** Records a time of the server's clock from an answer: the clock can only be later by now. */
export function noteServerTime(at: number): void {
  ahead = Math.max(ahead, at - Date.now());
}

/** Milliseconds since the epoch, by the server's clock; by this machine's before the first answer. */
export function serverNow(): number {
  return Date.now() + (ahead === Number.NEGATIVE_INFINITY ? 0 : ahead);
}
