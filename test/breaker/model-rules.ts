import { CallsWindowOracle } from "./oracle-calls-window.ts";
import { TimeWindowOracle } from "./oracle-time-window.ts";
import type { Counts, WindowOracle } from "./oracle-window.ts";

/** Microseconds. */
const SECOND = 1_000_000n;
const DAY = 86_400n * SECOND;

/** The options of a breaker, without defaults. Times are microseconds. */
export interface Rules {
  readonly window: { readonly time: bigint } | { readonly calls: number };
  readonly minimumSuccessRate: number;
  readonly minimumCalls: number;
  /** Undefined: no call is slow. */
  readonly slowCallMs: number | undefined;
  readonly slowCallRate: number;
  readonly openFor: (opened: number) => bigint;
  readonly probes: number;
  readonly probeTimeout: bigint;
  readonly ramp: bigint;
}

export function openWindow({ window }: Pick<Rules, "window">): WindowOracle {
  return "time" in window ? new TimeWindowOracle(window.time) : new CallsWindowOracle(window.calls);
}

/** How long a window remembers what came now. */
export function memoryOf({ window }: Rules): bigint {
  return "time" in window ? window.time : DAY;
}

/** How long a trial call holds its slot: a crashed process cannot report a timeout. */
export function leaseOf({ probeTimeout }: Rules): bigint {
  return probeTimeout + SECOND;
}

/** Whether what was counted is too bad to go on, once there is enough of it. */
export function isTooBad({ calls, failures, slow }: Counts, rules: Rules): boolean {
  if (calls === 0) return false;
  const isTooSlow = rules.slowCallMs !== undefined && slow / calls >= rules.slowCallRate;
  return (calls - failures) / calls < rules.minimumSuccessRate || isTooSlow;
}
