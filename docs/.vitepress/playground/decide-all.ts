import type { Decision, Duration, Limit } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { mostInAnyWindow } from "./most-in-a-window.ts";
import { optionsOf } from "./options.ts";
import { trafficOf } from "./requests.ts";
import type { AlgorithmName, Setting } from "./setting.ts";

const BUILDERS: Readonly<Record<AlgorithmName, (options: never) => Limit>> = {
  gcra,
  tokenBucket,
  fixedWindow,
  slidingWindow,
  slidingLog,
};

/** One request, and the package's decision about it. */
export interface Answer {
  readonly client: string;
  /** Milliseconds since the traffic began. */
  readonly atMs: number;
  readonly decision: Decision;
}

/** All requests of the traffic, in the order in which they are decided. */
export interface Outcome {
  readonly clients: readonly string[];
  readonly answers: readonly Answer[];
  readonly seconds: number;
  /** The window of the limit, as it was entered, and its length. */
  readonly window: { readonly text: string; readonly ms: number };
  /** The most requests of one client that the limit admits in any window. */
  readonly mostInAnyWindow: number;
}

/**
 * Sends the traffic of a setting to a limiter in memory, by a clock that jumps from one request to the next. Rejects with the package's
 * `HeadgateError` for options that it does not take, and with a `RangeError` for traffic that cannot be drawn.
 */
export async function decideAll(setting: Setting): Promise<Outcome> {
  let now = 0;
  const options = optionsOf(setting);
  const limits = BUILDERS[setting.algorithm](options as never);
  const store = memoryStore({ clock: () => now });
  const limiter = createLimiter({ name: "playground", store, limits });
  const { clients, endMs, most } = trafficOf(setting);
  const answers: Answer[] = [];
  const pending = clients.map(({ name, requests }) => ({
    name,
    requests,
    next: requests.next(),
  }));
  for (;;) {
    const first = pending.reduce((one, other) => (timeOf(other) < timeOf(one) ? other : one));
    if (timeOf(first) >= endMs) break;
    if (answers.length === most) throw new RangeError(TOO_MANY(most));
    now = timeOf(first);
    const decision = await limiter.consume(first.name);
    answers.push({ client: first.name, atMs: now, decision });
    first.next = first.requests.next(decision);
  }
  await limiter.close();
  const window = String(options["window"] ?? options["every"]);
  return {
    clients: clients.map(({ name }) => name),
    answers,
    seconds: endMs / 1_000,
    window: { text: window, ms: await lengthOf(window) },
    mostInAnyWindow: mostInAnyWindow(limits),
  };
}

/** The milliseconds of a duration, as the package reads it. */
async function lengthOf(duration: string): Promise<number> {
  const limits = fixedWindow({ limit: 1, window: duration as Duration });
  const limiter = createLimiter({ name: "length", store: memoryStore(), limits });
  const {
    limits: [state],
  } = await limiter.peek("client");
  await limiter.close();
  return state?.windowMs ?? 0;
}

const TOO_MANY = (most: number) =>
  `That makes more than ${most} requests. Lower the rate, or show fewer seconds.`;

function timeOf({ next }: { readonly next: IteratorResult<number, void> }): number {
  return next.value ?? Number.POSITIVE_INFINITY;
}
