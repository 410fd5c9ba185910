import { setFlagsFromString } from "node:v8";
import type { FieldNames } from "../log/fields.ts";
import { readRequests, totalBytesOf } from "../log/read-requests.ts";
import { noRequestsError } from "../log/skipped-lines.ts";
import type { NamedPolicy } from "./policies.ts";
import { replay } from "./replay.ts";
import type { ReplayResult } from "./result.ts";
import { showProgress } from "./show-progress.ts";
import type { StartOptions } from "./start-runs.ts";
import { startRuns } from "./start-runs.ts";

/** Options of `replayLogs`. */
export interface ReplayLogsOptions extends Omit<StartOptions, "clock"> {
  /** The field names, for logs in JSON lines. Default: the common or combined format. */
  readonly fields?: FieldNames | undefined;
}

/**
 * Replays logs under several policies, each request at its own time; `-` is standard input. Shows progress on stderr if
 * it is a terminal. Rejects with a `CommandError`, also for logs without any request, and with the signal's reason.
 */
export async function replayLogs(
  logs: readonly string[],
  policies: readonly NamedPolicy[],
  { fields, ...options }: ReplayLogsOptions,
): Promise<ReplayResult> {
  // Most objects are short-lived. Without this flag, the heap would grow to several times the live data.
  setFlagsFromString("--heap-growing-percent=100");
  const { stdin, stderr, signal } = options.context;
  const total = await totalBytesOf(logs);
  let now = 0;
  const { runs, close } = await startRuns(policies, { ...options, clock: () => now });
  const progress = showProgress(stderr, total);
  const requests = readRequests(logs, {
    ...{ stdin, signal, fields, onBytes: progress.step },
    // Only a real server needs methods and paths.
    requestLines: options.http !== undefined,
  });
  const onTime = (time: number): void => {
    now = time;
  };
  try {
    const result = await replay(requests, { files: logs, policies, runs, onTime, signal });
    if (result.log.requests === 0) throw noRequestsError(logs, result.log);
    return result;
  } finally {
    progress.stop();
    await close();
  }
}
