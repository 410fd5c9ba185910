import type { ReplayResult } from "../replay/result.ts";
import type { TightestLimit } from "./choose-window.ts";
import type { Recording } from "./recording.ts";
import { timeSpanOf, wholeRange } from "./recording-range.ts";
import type { Target } from "./target.ts";
import type { Window } from "./windows.ts";

/** Below this, a second more or less matters. */
const SHORT_WINDOW_MS = 10_000;

interface Options {
  readonly windows: readonly Window[];
  readonly target: Target;
  /** So many may be denied. */
  readonly maxDenied: number;
}

/** What to keep in mind of a proposal, and of the replay that proves it, as sentences. */
export function caveatsOf(
  recording: Recording,
  { log, policies }: ReplayResult,
  { window, isLogLongEnough }: TightestLimit,
  { windows, target, maxDenied }: Options,
): readonly string[] {
  const { from, to } = timeSpanOf(wholeRange(recording));
  const tooShort = windows.filter(({ ms }) => to - from < 2 * ms);
  const caveats: string[] = [];
  if (log.malformed > 0)
    caveats.push(`Lines left out, because they are no requests: ${log.malformed}.`);
  if (log.late > 0) {
    caveats.push(
      `Lines too late to be put in order, taken at the time of the line before: ${log.late}.`,
    );
  }
  if (policies.some(({ evicted }) => evicted > 0)) {
    caveats.push("Memory had to forget clients that still counted: denials may be missing.");
  }
  if (!isLogLongEnough) {
    caveats.push(
      `The log covers a window of ${window.text} less than twice: it says little about such a window.`,
    );
  } else if (tooShort.length > 0) {
    const written = tooShort.map((one) => one.text).join(", ");
    caveats.push(
      `Not considered: ${written}. The log would have to be at least twice as long as the window.`,
    );
  }
  if (maxDenied === 0 && target.percent > 0) {
    caveats.push(
      `${target.percent}% of so few ${target.of} is less than one: nobody may be denied, and the busiest client alone decides.`,
    );
  }
  if (window.ms < SHORT_WINDOW_MS && hasWholeSeconds(recording)) {
    caveats.push(
      "The log's times are whole seconds, so bursts across the end of a second look smaller than they were.",
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
