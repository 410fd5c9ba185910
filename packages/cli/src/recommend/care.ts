import type { ReplayResult } from "../replay/result.ts";
import type { Tightest } from "./choose-window.ts";
import { spanOf, wholeOf } from "./part.ts";
import type { Recording } from "./recording.ts";
import type { Target } from "./target.ts";
import type { Window } from "./windows.ts";

/** Below this, a second more or less matters. */
const SHORT_MS = 10_000;

interface Options {
  readonly windows: readonly Window[];
  readonly target: Target;
  /** So many may be denied. */
  readonly most: number;
}

/** What to keep in mind of a proposal, and of the replay that proves it, as sentences. */
export function careOf(
  recording: Recording,
  { log, policies }: ReplayResult,
  { window, isLongEnough }: Tightest,
  { windows, target, most }: Options,
): readonly string[] {
  const { from, to } = spanOf(wholeOf(recording));
  const tooShort = windows.filter(({ ms }) => to - from < 2 * ms);
  const care: string[] = [];
  if (log.malformed > 0)
    care.push(`Lines left out, because they are no requests: ${log.malformed}.`);
  if (log.late > 0) {
    care.push(
      `Lines too late to be put in order, taken at the time of the line before: ${log.late}.`,
    );
  }
  if (policies.some(({ evicted }) => evicted > 0)) {
    care.push("Memory had to forget clients that still counted: denials may be missing.");
  }
  if (!isLongEnough) {
    care.push(
      `The log covers a window of ${window.written} less than twice: it says little about such a window.`,
    );
  } else if (tooShort.length > 0) {
    const written = tooShort.map((one) => one.written).join(", ");
    care.push(
      `Not considered: ${written}. The log would have to be at least twice as long as the window.`,
    );
  }
  if (most === 0 && target.percent > 0) {
    care.push(
      `${target.percent}% of so few ${target.of} is less than one: nobody may be denied, and the busiest client alone decides.`,
    );
  }
  if (window.ms < SHORT_MS && hasWholeSeconds(recording)) {
    care.push(
      "The log's times are whole seconds, so bursts across the end of a second look smaller than they were.",
    );
  }
  return care;
}

function hasWholeSeconds(recording: Recording): boolean {
  for (let request = 0; request < recording.length; request += 1) {
    if (recording.timeOf(request) % 1_000 !== 0) return false;
  }
  return true;
}
