import type { Random } from "../conformance/random/random.ts";
import type { Rules } from "./model-rules.ts";

/** Options of a breaker, without its name and store. All times are milliseconds. */
export interface RandomOptions {
  readonly window: number | { readonly calls: number };
  readonly minimumSuccessRate: number;
  readonly minimumCalls?: number;
  readonly slowCall?: number;
  readonly slowCallRate?: number;
  readonly openFor: number | ((opened: number) => number);
  readonly trialCalls: number;
  readonly trialCallTimeout: number;
  readonly rampUp?: number;
}

export interface RandomBreaker {
  readonly options: RandomOptions;
  readonly rules: Rules;
}

const MINIMUM_CALLS = 20;
const LONGEST_BACKOFF = 20;

/** Options, and what they mean: mostly so small that a history of some dozens of calls goes round the states. */
export function randomBreaker(random: Random): RandomBreaker {
  const window = random.chance(0.5) ? randomTimeWindow(random) : randomCallsWindow(random);
  const most = typeof window === "number" ? MINIMUM_CALLS : Math.min(MINIMUM_CALLS, window.calls);
  const options: RandomOptions = {
    window,
    minimumSuccessRate: randomRate(random),
    ...(random.chance(0.9) && { minimumCalls: random.whole(1, Math.min(8, most)) }),
    ...randomSlowness(random),
    openFor: randomOpenFor(random),
    trialCalls: random.pick([1, 2, 3, 5, random.whole(1, 12)]),
    // Longer than the suite runs: the process's own timers run on the real clock.
    trialCallTimeout: random.pick([300_000, 600_000, 3_600_000]),
    ...(random.chance(0.3) && { rampUp: random.magnitude(1, 86_400_000) }),
  };
  return { options, rules: rulesOf(options) };
}

function rulesOf(options: RandomOptions): Rules {
  const { window, openFor } = options;
  const calls = typeof window === "number" ? MINIMUM_CALLS : Math.min(MINIMUM_CALLS, window.calls);
  return {
    window: typeof window === "number" ? { time: microseconds(window) } : window,
    minimumSuccessRate: options.minimumSuccessRate,
    minimumCalls: options.minimumCalls ?? calls,
    slowCallMs: options.slowCall,
    slowCallRate: options.slowCallRate ?? 1,
    openFor:
      typeof openFor === "number"
        ? () => microseconds(openFor)
        : (opened) => microseconds(openFor(Math.min(opened, LONGEST_BACKOFF))),
    probes: options.trialCalls,
    probeTimeout: microseconds(options.trialCallTimeout),
    ramp: microseconds(options.rampUp ?? 0),
  };
}

/** Milliseconds: from one to a day, with every size in between. */
export function randomTimeWindow(random: Random): number {
  return random.pick([1, 86_400_000, 300_000, random.magnitude(1, 86_400_000)]);
}

export function randomCallsWindow(random: Random): { readonly calls: number } {
  return { calls: random.magnitude(1, random.chance(0.1) ? 1_000 : 30) };
}

/** Rates that a few calls can reach exactly, and the two ends. */
function randomRate(random: Random): number {
  const calls = random.whole(1, 12);
  return random.pick([0.5, 0.5, 0, 1, random.whole(0, calls) / calls, random.fraction()]);
}

function randomSlowness(random: Random): Pick<RandomOptions, "slowCall" | "slowCallRate"> {
  if (random.chance(0.5)) return {};
  const slowCall = random.magnitude(1, 10_000);
  const calls = random.whole(1, 12);
  const slowCallRate = random.pick([0.8, 1, random.whole(1, calls) / calls]);
  return random.chance(0.2) ? { slowCall } : { slowCall, slowCallRate };
}

function randomOpenFor(random: Random): RandomOptions["openFor"] {
  const first = random.pick([30_000, 1_000, random.magnitude(1, 3_600_000)]);
  if (random.chance(0.5)) return first;
  return (opened) => Math.min(first * 2 ** (opened - 1), 86_400_000);
}

function microseconds(milliseconds: number): bigint {
  return BigInt(milliseconds) * 1_000n;
}
