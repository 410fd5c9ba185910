import type { RecordingRange } from "./recording-range.ts";

/**
 * The most requests of each subject of a range within any window, by the number of the subject; 0 for subjects without requests. The
 * window is in milliseconds, and includes its end, but not its start.
 */
export function subjectPeaks(
  { recording, start, end }: RecordingRange,
  window: number,
): Uint32Array {
  const inside = new Uint32Array(recording.clientNumbers);
  const peaks = new Uint32Array(recording.clientNumbers);
  let first = start;
  for (let request = start; request < end; request += 1) {
    const left = recording.timeOf(request) - window;
    for (; recording.timeOf(first) <= left; first += 1) {
      (inside[recording.subjectOf(first)] as number) -= 1;
    }
    const subject = recording.subjectOf(request);
    const count = (inside[subject] as number) + 1;
    inside[subject] = count;
    if (count > (peaks[subject] as number)) peaks[subject] = count;
  }
  return peaks;
}
