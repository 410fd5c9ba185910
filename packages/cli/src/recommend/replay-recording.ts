import type { LoggedRequest } from "../log/logged-request.ts";
import { heapBytesFor } from "../log/memory-budget.ts";
import type { LogCounts } from "../log/read-requests.ts";
import type { NamedPolicy } from "../replay/policies.ts";
import { runInMemory } from "../replay/policy-run.ts";
import { replay } from "../replay/replay.ts";
import { createStores } from "../replay/replay-stores.ts";
import type { ReplayResult } from "../replay/result.ts";
import type { Algorithm } from "./algorithms.ts";
import { makeLimit } from "./algorithms.ts";
import type { NamedUnits } from "./recommend.ts";
import type { Recording } from "./recording.ts";
import type { Window } from "./windows.ts";

interface Options {
  readonly files: readonly string[];
  readonly counts: LogCounts;
  readonly algorithm: Algorithm;
  readonly window: Window;
  readonly units: readonly NamedUnits[];
  readonly signal: AbortSignal;
}

/** The number of requests per batch. */
const CHUNK = 4_096;

/** Replays a recording under several limits, like `headgate replay` would the log. Rejects with the signal's reason. */
export async function replayRecording(
  recording: Recording,
  { files, counts, algorithm, window, units: named, signal }: Options,
): Promise<ReplayResult> {
  const policies = named.map(
    ({ name, units }): NamedPolicy => ({
      name,
      limits: [makeLimit(algorithm, units, window.text)],
    }),
  );
  let now = 0;
  const stores = createStores(policies, () => now);
  const runs = stores.map((store, i) => runInMemory(policies[i] as NamedPolicy, store));
  const onTime = (time: number): void => {
    now = time;
  };
  const requests = {
    [Symbol.asyncIterator]: () => requestsOf(recording),
    counts: () => counts,
  };
  try {
    return await replay(requests, {
      ...{ files, policies, runs, onTime, signal },
      clientBytes: heapBytesFor("clients") / 2,
    });
  } finally {
    await Promise.all(runs.map((run) => run.close()));
  }
}

async function* requestsOf(recording: Recording): AsyncGenerator<readonly LoggedRequest[]> {
  for (let start = 0; start < recording.length; start += CHUNK) {
    const length = Math.min(CHUNK, recording.length - start);
    yield Array.from({ length }, (_, i) => ({
      time: recording.timeOf(start + i),
      client: recording.clients.nameOf(recording.clientOf(start + i)),
      method: "",
      path: "",
      status: undefined,
    }));
  }
}
