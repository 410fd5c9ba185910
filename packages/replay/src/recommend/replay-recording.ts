import type { LogEntry } from "../log/log-entry.ts";
import { heapBytesFor } from "../log/memory-budget.ts";
import type { LogCounts } from "../log/read-log.ts";
import type { ReplayPolicy } from "../replay/policies.ts";
import { replayEntries } from "../replay/replay-entries.ts";
import type { ReplayResult } from "../replay/result.ts";
import { startRuns } from "../replay/start-runs.ts";
import type { Recording } from "./recording.ts";

/** The number of requests per batch. */
const CHUNK = 4_096;

/** Replays a recording, like `replay` would the log. Rejects with the signal's reason. */
export async function replayRecording(
  recording: Recording,
  counts: LogCounts,
  policies: readonly ReplayPolicy[],
  signal: AbortSignal | undefined,
): Promise<ReplayResult> {
  let now = 0;
  const runs = await startRuns(policies, { clock: () => now, storeTimeout: 5_000 });
  const onTime = (time: number): void => {
    now = time;
  };
  const requests = {
    [Symbol.asyncIterator]: () => requestsOf(recording),
    counts: () => counts,
  };
  const clientBytes = heapBytesFor("clients") / 2;
  try {
    return await replayEntries(requests, { policies, runs, onTime, signal, clientBytes });
  } finally {
    await Promise.all(runs.map((run) => run.close()));
  }
}

async function* requestsOf(recording: Recording): AsyncGenerator<readonly LogEntry[]> {
  for (let start = 0; start < recording.length; start += CHUNK) {
    const length = Math.min(CHUNK, recording.length - start);
    yield Array.from({ length }, (_, i) => ({
      time: recording.timeOf(start + i),
      client: recording.clients.nameOf(recording.clientOf(start + i)),
    }));
  }
}
