import { pluralize } from "../format/number.ts";

/** What happened to the order of a log, as sentences; undefined if it was in order. */
export function formatOrder({ reordered }: { readonly reordered: number }): string | undefined {
  if (reordered === 0) return undefined;
  const [were, they] = reordered === 1 ? ["was", "It was"] : ["were", "They were"];
  return `${pluralize(reordered, "request")} ${were} out of order in the log. ${they} sorted by time before the replay, so this does not affect the result.`;
}

/** The lines that a replay of a log lacks, and the requests that it has at another time, as sentences. */
export function formatLogCaveats({
  malformed,
  late,
}: {
  readonly malformed: number;
  readonly late: number;
}): readonly string[] {
  return [
    ...(malformed > 0
      ? [
          `${pluralize(malformed, "line")} skipped: not ${malformed === 1 ? "a request" : "requests"}.`,
        ]
      : []),
    ...(late > 0
      ? [
          `${pluralize(late, "request")} ${late === 1 ? "was" : "were"} too far out of order to be sorted. ${late === 1 ? "It counts" : "Each counts"} at the time of the request before it, so denials near it may be wrong.`,
        ]
      : []),
  ];
}

/** The evictions of clients that still counted, as sentences. */
export function formatEvictionCaveat(evicted: number): string {
  return `The memory was full: ${pluralize(evicted, "time")}, the count of a client started over. More requests may be denied than the result shows.`;
}
