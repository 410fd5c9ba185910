import { expect, test } from "vitest";
import { countPeaks } from "../replay/peaks.ts";
import { Recording, subjectPeaks, wholeRange } from "./recording.ts";

function recordingOf(...requests: readonly (readonly [time: number, client: string])[]): Recording {
  const recording = new Recording();
  recording.add(requests.map(([time, client]) => ({ time, client, method: "", path: "" })));
  return recording;
}

test("a peak is the most requests within a window that includes its end, but not its start", () => {
  const recording = recordingOf(
    [0, "192.0.2.1"],
    [400, "192.0.2.2"],
    [999, "192.0.2.1"],
    [1_000, "192.0.2.1"],
    [1_001, "192.0.2.1"],
    [1_400, "192.0.2.2"],
  );
  const peaksWithin = (window: number) => [...subjectPeaks(wholeRange(recording), window)];
  expect(peaksWithin(1_000)).toEqual([3, 1]);
  expect(peaksWithin(1_001)).toEqual([3, 2]);
  expect(peaksWithin(1_002)).toEqual([4, 2]);
  expect(peaksWithin(1)).toEqual([1, 1]);
});

test("clients of one IPv6 network count as one subject", () => {
  const recording = recordingOf([0, "2001:db8::1"], [1, "2001:db8::2"], [2, "192.0.2.1"]);
  expect(countPeaks(subjectPeaks(wholeRange(recording), 1_000))).toEqual([
    { peak: 1, clients: 1 },
    { peak: 2, clients: 1 },
  ]);
});
