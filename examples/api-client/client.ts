// A client of a limited API: it slows down before it is denied, and comes back when the API says so.

import { setTimeout as after } from "node:timers/promises";

export interface ClientOptions {
  /** How often a denied request is sent again. */
  readonly retries?: number;
  /** The longest wait, in milliseconds. The answer to a request that would have to wait longer is the caller's. */
  readonly longestWait?: number;
  /** The time and the waits, for tests. */
  readonly now?: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

/** Makes a `fetch` for one API. Bodies must be texts or bytes, since a stream can be sent only once. */
export function createClient(options: ClientOptions = {}): typeof fetch {
  const { retries = 3, longestWait = 60_000, now = Date.now, sleep = after } = options;
  let roomAt = 0;

  return async (input, init) => {
    for (let sent = 0; ; sent += 1) {
      const wait = roomAt - now();
      if (wait > 0) await sleep(Math.min(wait, longestWait));

      const answer = await fetch(input, init);
      const retryMs = secondsOf(answer.headers.get("retry-after")) * 1_000;
      // A little more for each, so that many clients do not come back at once.
      roomAt = now() + Math.max(retryMs, msUntilRoom(answer.headers)) * (1 + Math.random() / 10);
      const isDenied = answer.status === 429 || answer.status === 503;
      if (!isDenied || retryMs === 0 || retryMs > longestWait || sent === retries) return answer;
      await answer.body?.cancel();
    }
  };
}

/** `RateLimit: "minute";r=0;t=12, "day";r=80;t=30`: of the limits with nothing left, the longest wait. */
function msUntilRoom(headers: Headers): number {
  const limits = (headers.get("ratelimit") ?? "").replaceAll(/"(?:[^"\\]|\\.)*"/g, "").split(",");
  const empty = limits.filter((limit) => /;r=0\b/.test(limit));
  return Math.max(0, ...empty.map((limit) => secondsOf(/;t=(\d+)/.exec(limit)?.[1]))) * 1_000;
}

/** Other servers may send a date, or nothing. */
function secondsOf(value: string | null | undefined): number {
  return /^\d+$/.test(value ?? "") ? Number(value) : 0;
}
