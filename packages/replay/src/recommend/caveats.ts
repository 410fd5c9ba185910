import { formatEvictionCaveat, formatLogCaveats } from "../log/log-notes.ts";
import type { ReplayResult } from "../replay/result.ts";
import type { TightestLimit, Window } from "./choose-window.ts";
import type { Recording } from "./recording.ts";
import { timeSpanOf, wholeRange } from "./recording.ts";
import type { DenialTarget } from "./target.ts";

/** For shorter windows, times in whole seconds are too coarse. */
const SHORT_WINDOW_MS = 10_000;

interface Options {
  readonly windows: readonly Window[];
  readonly target: DenialTarget;
  /** How many clients or requests may be denied. */
  readonly maxDenied: number;
}

/** The caveats of a recommendation and of the replay that proves it, as sentences. */
export function caveatsOf(
  recording: Recording,
  { log, policies }: ReplayResult,
  { window, isLogLongEnough }: TightestLimit,
  { windows, target, maxDenied }: Options,
): readonly string[] {
  const { from, to } = timeSpanOf(wholeRange(recording));
  const tooShort = windows.filter(({ ms }) => to - from < 2 * ms);
  const caveats = [...formatLogCaveats(log)];
  const evicted = policies.reduce((sum, one) => sum + one.evicted, 0);
  if (evicted > 0) caveats.push(formatEvictionCaveat(evicted));
  if (!isLogLongEnough) {
    caveats.push(
      `The log is less than twice as long as the window of ${window.text}, so it says little about this window.`,
    );
  } else if (tooShort.length > 0) {
    const written = tooShort.map((one) => one.text).join(", ");
    caveats.push(
      `Not considered: ${written}. The log must be at least twice as long as the window.`,
    );
  }
  if (target.isForSmallLog === true) {
    caveats.push(
      `The target is ${target.maxPercent}% of ${target.of}, because 0.1% of so few is less than one. If 1% is too much, give another share.`,
    );
  }
  if (maxDenied === 0 && target.maxPercent > 0) {
    caveats.push(
      `${target.maxPercent}% of so few ${target.of} is less than one, so no client may be denied: the busiest client alone sets the limit. A share of at least ${Math.ceil(100 / log[target.of])}%, or a longer log, says more.`,
    );
  }
  if (window.ms < SHORT_WINDOW_MS && hasWholeSeconds(recording)) {
    caveats.push(
      "The times in the log are whole seconds, so bursts across the end of a second look smaller than they were.",
    );
  }
  return caveats;
}

function hasWholeSeconds(recording: Recording): boolean {
  for (let request = 0; request < recording.length; request += 1) {
    if (recording.timeOf(request) % 1_000 !== 0) return false;
  }
  return true;
}
