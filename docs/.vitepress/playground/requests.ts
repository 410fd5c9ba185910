import type { Decision } from "@headgate/core";
import { toNumber } from "./options.ts";
import type { Setting } from "./setting.ts";

/** The most requests that are drawn. */
const MOST_REQUESTS = 2_000;

/** Of one client: yields when it sends, in milliseconds, and takes the decision. */
type Requests = Generator<number, void, Decision>;

export interface Traffic {
  readonly clients: readonly { readonly name: string; readonly requests: Requests }[];
  readonly endMs: number;
  readonly most: number;
}

/** The clients of a setting. Throws a `RangeError` for numbers that cannot be drawn. */
export function trafficOf({ traffic, values }: Setting): Traffic {
  const read = (name: string, what: string, most: number, least = 0.1) =>
    readNumber(values[name], what, least, most);
  const seconds = read("seconds", "Seconds shown", 600, 1);
  const clients = {
    steady: () => [{ name: "client", requests: evenly(read("rate", RATE, 100)) }],
    bursts: () => {
      const size = read("size", "Requests in a burst", 1_000, 1);
      const pause = read("pause", "Seconds between bursts", 600, 1);
      return [{ name: "client", requests: inBursts(size, pause * 1_000) }];
    },
    "two-clients": () => [
      { name: "busy", requests: evenly(read("busy", RATE, 100)) },
      { name: "quiet", requests: evenly(read("quiet", RATE, 100)) },
    ],
    retries: () => {
      const retryMs = values["retry"] === "every 250 ms" ? 250 : undefined;
      return [{ name: "client", requests: retrying(read("rate", RATE, 100), retryMs) }];
    },
  };
  return { clients: clients[traffic](), endMs: seconds * 1_000, most: MOST_REQUESTS };
}

const RATE = "Requests per second";

function readNumber(text: string | undefined, what: string, least: number, most: number): number {
  const value = toNumber(text);
  if (value >= least && value <= most) return value;
  throw new RangeError(`${what}: enter a number from ${least} to ${most}.`);
}

function* evenly(rate: number): Requests {
  for (let i = 0; ; i += 1) yield Math.round((i * 1_000) / rate);
}

/** Each burst takes half a second. */
function* inBursts(size: number, pauseMs: number): Requests {
  for (let start = 1_000; ; start += pauseMs) {
    for (let i = 0; i < size; i += 1) yield start + Math.round((i * 500) / size);
  }
}

/** Repeats a denied request after `retryMs`, or else when the decision says that it can succeed. */
function* retrying(rate: number, retryMs: number | undefined): Requests {
  for (let at = 0; ; ) {
    const { allowed, retryAfterMs } = yield at;
    at += allowed ? Math.round(1_000 / rate) : (retryMs ?? retryAfterMs);
  }
}
