import type { Limit } from "@headgate/core";
import { createLimiter, memoryStore } from "@headgate/core";
import { CommandError } from "../command/command-error.ts";
import { maxKeysFor } from "../replay/replay-stores.ts";
import type { RecordingRange } from "./recording-range.ts";

/** The effect of a limit on some requests. */
export interface Score {
  readonly requests: number;
  readonly denied: number;
  readonly clients: number;
  readonly clientsDenied: number;
}

/** The denials so far. */
export interface DenialCounts {
  readonly requests: number;
  readonly clients: number;
}

interface Options {
  /** Whether a subject can be denied at all. The requests of other subjects are skipped. */
  readonly mayBeDenied: (subject: number) => boolean;
  /** Called after each batch: whether the rest need not be decided. */
  readonly isDone: (denied: DenialCounts) => boolean;
  readonly signal: AbortSignal;
}

/** The most requests decided at once. */
const MAX_BATCH = 256;

/** Decides the requests of a range with the library, each at its own time, and counts the denials. Rejects with a `CommandError` if the clients do not fit into the memory, and with the signal's reason. */
export async function countDenied(
  { recording, start, end }: RecordingRange,
  limit: Limit<never>,
  { mayBeDenied, isDone, signal }: Options,
): Promise<DenialCounts> {
  let now = 0;
  const store = memoryStore({ clock: () => now, maxKeys: maxKeysFor([limit], 1) });
  const limiter = createLimiter({ name: "recommend", limits: limit, store });
  const clients = new Set<number>();
  let denied = 0;
  let waiting: number[] = [];

  async function decide(): Promise<void> {
    const batch = waiting;
    waiting = [];
    const decisions = await Promise.all(
      batch.map((request) => limiter.consume(String(recording.subjectOf(request)))),
    );
    for (const [i, { allowed }] of decisions.entries()) {
      if (allowed) continue;
      denied += 1;
      clients.add(recording.clientOf(batch[i] as number));
    }
    signal.throwIfAborted();
  }

  try {
    for (let request = start; request < end; request += 1) {
      if (!mayBeDenied(recording.subjectOf(request))) continue;
      const time = recording.timeOf(request);
      if (waiting.length > 0 && (time !== now || waiting.length === MAX_BATCH)) {
        await decide();
        if (isDone({ requests: denied, clients: clients.size })) break;
      }
      now = time;
      waiting.push(request);
    }
    if (waiting.length > 0) await decide();
    if (store.evictions > 0) throw evictionError();
    return { requests: denied, clients: clients.size };
  } finally {
    await limiter.close();
  }
}

/** The error after an eviction, because the recommended limit would then deny more than its score says. */
function evictionError(): CommandError {
  return new CommandError(
    "the log has more busy clients at once than fit into the memory of this process: use a part of the log or shorter windows, or allow more memory with NODE_OPTIONS=--max-old-space-size",
  );
}
