import type { Recording } from "./recording.ts";

/** Some requests of a recording, one after the other. */
export interface RecordingRange {
  readonly recording: Recording;
  /** The first one. */
  readonly start: number;
  /** The one after the last. */
  readonly end: number;
}

export function wholeRange(recording: Recording): RecordingRange {
  return { recording, start: 0, end: recording.length };
}

/**
 * The earlier and the later half of a recording's requests; requests of one moment stay together. Undefined where all are of one
 * moment.
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

/** Whether a request came at the same time as the one before. */
function hasSameTime(recording: Recording, request: number): boolean {
  return recording.timeOf(request) === recording.timeOf(request - 1);
}

/** The first and the last moment of a part that is not empty, in milliseconds since the epoch. */
export function timeSpanOf({ recording, start, end }: RecordingRange): {
  from: number;
  to: number;
} {
  return { from: recording.timeOf(start), to: recording.timeOf(end - 1) };
}

/** Different clients of a part. */
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
