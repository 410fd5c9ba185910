import { createLimiter, HeadgateError, memoryStore } from "@headgate/core";
import type { ReplayLimit } from "../replay/policies.ts";
import { maxKeysFor } from "../replay/start-runs.ts";
import type { Algorithm } from "./algorithms.ts";
import { makeLimit } from "./algorithms.ts";
import type { Window } from "./choose-window.ts";
import type { Score } from "./recommendation.ts";
import type { RecordingRange } from "./recording.ts";
import { countClients, subjectPeaks } from "./recording.ts";
import type { DenialTarget } from "./target.ts";
import { maxDeniedOf } from "./target.ts";

export interface SearchOptions {
  readonly algorithm: Algorithm;
  readonly window: Window;
  readonly target: DenialTarget;
  readonly signal: AbortSignal | undefined;
}

/** Searches the limits of one algorithm and window. */
export interface Search {
  /** The effect of a limit of `units`. */
  score(units: number): Promise<Score>;
  /**
   * The fewest units that meet the target; one unit fewer misses it. Only with sliding windows might even fewer units meet it again,
   * because denied requests do not count in the following window.
   */
  findTightest(): Promise<number>;
}

/** Searches a range that is not empty. The library makes all decisions. */
export function createSearch(
  range: RecordingRange,
  { algorithm, window, target, signal }: SearchOptions,
): Search {
  const requests = range.end - range.start;
  const clients = countClients(range);
  const most = maxDeniedOf(target, target.of === "clients" ? clients : requests);
  // No algorithm denies a client that never makes more requests than the limit within two windows.
  const peaks = subjectPeaks(range, 2 * window.ms);

  function count(units: number, isDone: (denied: DenialCounts) => boolean): Promise<DenialCounts> {
    const mayBeDenied = (subject: number): boolean => (peaks[subject] as number) > units;
    const limit = makeLimit(algorithm, units, window.text);
    return countDenied(range, limit, { mayBeDenied, isDone, signal });
  }

  async function meets(units: number): Promise<boolean> {
    const denied = await count(units, (sofar) => sofar[target.of] > most);
    return denied[target.of] <= most;
  }

  return {
    async score(units) {
      const denied = await count(units, () => false);
      return { requests, denied: denied.requests, clients, clientsDenied: denied.clients };
    },
    async findTightest() {
      let misses = 0;
      let met = findUpperBound(range, peaks, target, most);
      while (met - misses > 1) {
        const units = Math.floor((misses + met) / 2);
        if (await meets(units)) met = units;
        else misses = units;
      }
      return met;
    },
  };
}

/** Units that meet the target even if every request of every client that can be denied is denied. */
function findUpperBound(
  { recording, start, end }: RecordingRange,
  peaks: Uint32Array,
  { of }: DenialTarget,
  most: number,
): number {
  const weights = new Uint32Array(recording.clientNumbers);
  const known = new Uint8Array(recording.clientNumbers);
  for (let request = start; request < end; request += 1) {
    const client = recording.clientOf(request);
    if (of === "clients" && known[client] === 1) continue;
    known[client] = 1;
    (weights[recording.subjectOf(request)] as number) += 1;
  }
  const busiest = [...peaks.keys()].sort((a, b) => (peaks[b] as number) - (peaks[a] as number));
  let denied = 0;
  for (const subject of busiest) {
    denied += weights[subject] as number;
    if (denied > most) return peaks[subject] as number;
  }
  return 1;
}

/** The denials so far. */
export interface DenialCounts {
  readonly requests: number;
  readonly clients: number;
}

interface CountOptions {
  /** Whether a subject can be denied at all. The requests of other subjects are skipped. */
  readonly mayBeDenied: (subject: number) => boolean;
  /** Called after each batch: whether the rest need not be decided. */
  readonly isDone: (denied: DenialCounts) => boolean;
  readonly signal: AbortSignal | undefined;
}

/** The most requests decided at once. */
const MAX_BATCH = 256;

/** Decides the requests of a range with the library, each at its own time, and counts the denials. Rejects with `HEADGATE_LOG_TOO_LARGE` if the clients do not fit into the memory, and with the signal's reason. */
export async function countDenied(
  { recording, start, end }: RecordingRange,
  limit: ReplayLimit,
  { mayBeDenied, isDone, signal }: CountOptions,
): Promise<DenialCounts> {
  let now = 0;
  const store = memoryStore({ clock: () => now, maxKeys: maxKeysFor([limit], 1) });
  const limiter = createLimiter({ name: "recommend", limits: limit, store });
  const clients = new Set<number>();
  let denied = 0;
  let waiting: number[] = [];

  async function decide(): Promise<void> {
    const batch = waiting;
    waiting = [];
    const decisions = await Promise.all(
      batch.map((request) => limiter.consume(String(recording.subjectOf(request)))),
    );
    for (const [i, { allowed }] of decisions.entries()) {
      if (allowed) continue;
      denied += 1;
      clients.add(recording.clientOf(batch[i] as number));
    }
    signal?.throwIfAborted();
  }

  try {
    for (let request = start; request < end; request += 1) {
      if (!mayBeDenied(recording.subjectOf(request))) continue;
      const time = recording.timeOf(request);
      if (waiting.length > 0 && (time !== now || waiting.length === MAX_BATCH)) {
        await decide();
        if (isDone({ requests: denied, clients: clients.size })) break;
      }
      now = time;
      waiting.push(request);
    }
    if (waiting.length > 0) await decide();
    if (store.evictions > 0) throw evictionError();
    return { requests: denied, clients: clients.size };
  } finally {
    await limiter.close();
  }
}

/** The error after an eviction, because the recommended limit would then deny more than its score says. */
function evictionError(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_LOG_TOO_LARGE",
    "the log has more busy clients at once than fit into the memory of this process: use a part of the log or shorter windows, or allow more memory with NODE_OPTIONS=--max-old-space-size",
  );
}
