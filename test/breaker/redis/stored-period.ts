import type { BreakerState } from "@headgate/breaker";

/** A trial call under way, as Redis has it. Times are microseconds since the epoch. */
export interface StoredLease {
  readonly id: number;
  readonly since: number;
  readonly ends: number;
}

/** How a target is doing, as Redis has it. Times are microseconds since the epoch. */
export interface StoredPeriod {
  readonly state: BreakerState;
  readonly id: number;
  readonly since: number;
  readonly ends: number;
  readonly opened: number;
  /** The calls that caused it. */
  readonly calls: number;
  readonly failures: number;
  readonly slow: number;
  /** Trial calls that have ended. */
  readonly done: number;
  readonly doneFailures: number;
  readonly doneSlow: number;
  readonly leases: readonly StoredLease[];
}

const STATES: readonly BreakerState[] = [
  "closed",
  "open",
  "half-open",
  "forced-open",
  "disabled",
  "metrics-only",
];
const RECORD_WIDTH = 58;
const LEASE_WIDTH = 20;

/** Reads the bytes of a target's record by what the head of period.lua says of them, and by nothing of ours. */
export function readStoredPeriod(bytes: Buffer): StoredPeriod {
  if (bytes.length < RECORD_WIDTH || (bytes.length - RECORD_WIDTH) % LEASE_WIDTH !== 0) {
    throw new Error(`a record of ${bytes.length} bytes`);
  }
  let at = 0;
  // Node reads six bytes at once at most.
  const next = (width: number): number => {
    const low = Math.min(width, 6);
    const high = width - low;
    const above = high === 0 ? 0 : bytes.readUIntBE(at, high);
    const number = above * 2 ** 48 + bytes.readUIntBE(at + high, low);
    at += width;
    return number;
  };
  const [state, id, since, ends] = [STATES[next(1)] as BreakerState, next(6), next(7), next(7)];
  // When it is as good as absent, and when its window was emptied.
  at += 14;
  const [opened, calls, failures, slow] = [next(2), next(5), next(5), next(5)];
  const [done, doneFailures, doneSlow] = [next(2), next(2), next(2)];
  const leases: StoredLease[] = [];
  while (at < bytes.length) leases.push({ id: next(6), since: next(7), ends: next(7) });
  return {
    ...{ state, id, since, ends, opened, calls, failures, slow },
    ...{ done, doneFailures, doneSlow, leases },
  };
}
