import type { Algorithm } from "./algorithms.ts";
import { makeLimit } from "./algorithms.ts";
import type { RecordingRange } from "./recording-range.ts";
import { countClients } from "./recording-range.ts";
import type { DenialCounts, Score } from "./score.ts";
import { countDenied } from "./score.ts";
import { subjectPeaks } from "./subject-peaks.ts";
import type { DenialTarget } from "./target.ts";
import { maxDeniedOf } from "./target.ts";
import type { Window } from "./windows.ts";

/** Options of `createSearch`. */
export interface SearchOptions {
  readonly algorithm: Algorithm;
  readonly window: Window;
  readonly target: DenialTarget;
  readonly signal: AbortSignal;
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
