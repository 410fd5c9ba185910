import { addAbortCallback } from "../common/abort-listeners.ts";
import type { Decision } from "../common/decision.ts";
import type { SlotHandle } from "../policy/slot.ts";
import type { RunContext } from "./limiter.ts";

/** Runs admitted work. Its slots are renewed meanwhile, and released at the end; if the store does not answer, they expire. */
export async function runAdmitted<T>(
  decision: Decision,
  slots: SlotHandle | undefined,
  signal: AbortSignal | undefined,
  work: (admitted: RunContext) => T | Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const stopFollowing = [slots?.signal, signal].map((one) => one && follow(one, abort));
  slots?.startRenewing();
  try {
    return await work({ signal: abort.signal, decision });
  } finally {
    for (const stop of stopFollowing) stop?.();
    await slots?.release().catch(() => {});
  }
}

/** Aborts when a signal does, until the returned function is called. */
function follow(signal: AbortSignal, abort: AbortController): () => void {
  if (signal.aborted) abort.abort(signal.reason);
  return addAbortCallback(signal, () => abort.abort(signal.reason));
}
