import { describe, expect, test } from "vitest";
import type { ReplayLimit } from "../replay/policies.ts";
import type { Algorithm } from "./algorithms.ts";
import { makeLimit } from "./algorithms.ts";
import { readWindows } from "./choose-window.ts";
import { Recording, wholeRange } from "./recording.ts";
import { countDenied, createSearch } from "./search.ts";
import type { DenialTarget } from "./target.ts";
import { maxDeniedOf } from "./target.ts";

const { signal } = new AbortController();

interface Request {
  readonly time: number;
  readonly client: string;
}

/** A few clients, some of which come in bursts; two of them are of one network. */
function requestsOf(seed: number): Request[] {
  let state = seed;
  function random(below: number): number {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  }
  const names = [
    "192.0.2.1",
    "192.0.2.2",
    "192.0.2.3",
    "host.example",
    "2001:db8::1",
    "2001:db8::2",
  ];
  const requests: Request[] = [];
  for (const client of names) {
    let time = random(60_000);
    for (let i = random(40); i >= 0; i -= 1) {
      requests.push({ time, client });
      time += random(4) === 0 ? random(90_000) : random(3) * 1_000;
    }
  }
  return requests.sort((one, other) => one.time - other.time);
}

function record(requests: readonly Request[]): Recording {
  const recording = new Recording();
  recording.add(requests.map((one) => ({ ...one, method: "", path: "" })));
  return recording;
}

function subjectOf(client: string): string {
  return client.startsWith("2001:db8::") ? "network" : client;
}

/** Counts with whole numbers, and nothing of the library's. True where a request is admitted. */
const NAIVELY: Readonly<
  Partial<Record<Algorithm, (units: number, window: number) => (time: number) => boolean>>
> = {
  gcra(units, window) {
    let free = 0;
    return (time) => {
      const next = Math.max(free, time * units) + window;
      if (next - time * units > window * units) return false;
      free = next;
      return true;
    };
  },
  slidingLog(units, window) {
    let admitted: number[] = [];
    return (time) => {
      admitted = admitted.filter((at) => at > time - window);
      if (admitted.length === units) return false;
      admitted.push(time);
      return true;
    };
  },
  fixedWindow(units, window) {
    let [end, count] = [0, 0];
    return (time) => {
      if (time >= end) [end, count] = [time + window, 0];
      if (count === units) return false;
      count += 1;
      return true;
    };
  },
};

function deniedNaively(
  requests: readonly Request[],
  decider: () => (time: number) => boolean,
): { requests: number; clients: number } {
  const deciders = new Map<string, (time: number) => boolean>();
  const denied = requests.filter(({ time, client }) => {
    const subject = subjectOf(client);
    const decide = deciders.get(subject) ?? decider();
    deciders.set(subject, decide);
    return !decide(time);
  });
  return { requests: denied.length, clients: new Set(denied.map(({ client }) => client)).size };
}

const WINDOWS = readWindows(["1s", "10s", "1m", "10m"]);

const TARGETS: readonly DenialTarget[] = [
  { of: "clients", maxPercent: 0 },
  { of: "clients", maxPercent: 20 },
  { of: "requests", maxPercent: 0 },
  { of: "requests", maxPercent: 7.5 },
];

const SEEDS = [1, 2, 3, 4, 5];

describe.each(Object.entries(NAIVELY))("the tightest %s", (algorithm, naively) => {
  test.each(TARGETS)(
    "for at most $maxPercent % of $of is what trying all limits finds",
    async (target) => {
      for (const seed of SEEDS) {
        const requests = requestsOf(seed);
        const recording = record(requests);
        const whole =
          target.of === "clients"
            ? new Set(requests.map(({ client }) => client)).size
            : requests.length;
        const most = maxDeniedOf(target, whole);
        for (const window of WINDOWS) {
          let units = 1;
          while (deniedNaively(requests, () => naively(units, window.ms))[target.of] > most)
            units += 1;
          const search = createSearch(wholeRange(recording), {
            algorithm: algorithm as Algorithm,
            window,
            target,
            signal,
          });
          expect(await search.findTightest(), `${seed}, ${window.text}`).toBe(units);
          const denied = deniedNaively(requests, () => naively(units, window.ms));
          expect(await search.score(units)).toMatchObject({
            denied: denied.requests,
            clientsDenied: denied.clients,
          });
        }
      }
    },
  );
});

/** Of all requests, by the library. */
function deniedBy(recording: Recording, limit: ReplayLimit) {
  return countDenied(wholeRange(recording), limit, {
    mayBeDenied: () => true,
    isDone: () => false,
    signal,
  });
}

test.each(["gcra", "tokenBucket", "fixedWindow", "slidingWindow", "slidingLog"] as const)(
  "%s meets the target, and one unit tighter misses it",
  async (algorithm) => {
    for (const seed of SEEDS) {
      const recording = record(requestsOf(seed));
      for (const window of WINDOWS) {
        const target: DenialTarget = { of: "requests", maxPercent: 5 };
        const most = maxDeniedOf(target, recording.length);
        const units = await createSearch(wholeRange(recording), {
          ...{ algorithm, window, target, signal },
        }).findTightest();
        const met = await deniedBy(recording, makeLimit(algorithm, units, window.text));
        expect(met.requests).toBeLessThanOrEqual(most);
        if (units === 1) continue;
        const tighter = await deniedBy(recording, makeLimit(algorithm, units - 1, window.text));
        expect(tighter.requests).toBeGreaterThan(most);
      }
    }
  },
);

test("if all clients may be denied, the tightest limit is one unit", async () => {
  const search = createSearch(wholeRange(record(requestsOf(1))), {
    algorithm: "gcra",
    window: WINDOWS[0] as (typeof WINDOWS)[number],
    target: { of: "clients", maxPercent: 100 },
    signal,
  });
  expect(await search.findTightest()).toBe(1);
});

test("an interruption ends a search", async () => {
  const stop = new AbortController();
  const search = createSearch(wholeRange(record(requestsOf(1))), {
    algorithm: "gcra",
    window: WINDOWS[2] as (typeof WINDOWS)[number],
    target: { of: "requests", maxPercent: 0 },
    signal: stop.signal,
  });
  stop.abort(new Error("interrupted"));
  await expect(search.score(1)).rejects.toThrow("interrupted");
});
