import type { Recording } from "./recording.ts";

/** A range of the requests of a recording. */
export interface RecordingRange {
  readonly recording: Recording;
  /** The index of the first request. */
  readonly start: number;
  /** The index after the last request. */
  readonly end: number;
}

export function wholeRange(recording: Recording): RecordingRange {
  return { recording, start: 0, end: recording.length };
}

/**
 * The earlier and the later half of a recording. Requests with the same time stay together. Undefined if all requests have the same
 * time.
 */
export function splitInHalf(
  recording: Recording,
): readonly [earlier: RecordingRange, later: RecordingRange] | undefined {
  const { length } = recording;
  const middle = Math.floor(length / 2);
  let cut = middle;
  while (cut > 0 && hasSameTime(recording, cut)) cut -= 1;
  if (cut === 0) {
    cut = middle;
    while (cut < length && hasSameTime(recording, cut)) cut += 1;
  }
  if (cut === 0 || cut >= length) return undefined;
  return [
    { recording, start: 0, end: cut },
    { recording, start: cut, end: length },
  ];
}

/** Whether a request has the same time as the previous one. */
function hasSameTime(recording: Recording, request: number): boolean {
  return recording.timeOf(request) === recording.timeOf(request - 1);
}

/** The first and the last time of a range that is not empty, in milliseconds since the epoch. */
export function timeSpanOf({ recording, start, end }: RecordingRange): {
  from: number;
  to: number;
} {
  return { from: recording.timeOf(start), to: recording.timeOf(end - 1) };
}

/** Counts the distinct clients of a range. */
export function countClients({ recording, start, end }: RecordingRange): number {
  const known = new Uint8Array(recording.clientNumbers);
  let count = 0;
  for (let request = start; request < end; request += 1) {
    const client = recording.clientOf(request);
    count += 1 - (known[client] as number);
    known[client] = 1;
  }
  return count;
}
