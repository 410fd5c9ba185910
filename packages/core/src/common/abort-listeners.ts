/** The callbacks of each signal. */
const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back once when a signal aborts, unless the returned function is called first. A signal gets one listener for all
 * callbacks, because thousands of calls may share the signal of a process, and Node warns at eleven listeners.
 */
export function addAbortCallback(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = callbacksOf.get(signal) ?? addListener(signal);
  callbacks.add(callback);
  return () => {
    // Unsubscribing twice must not remove the listener of later callers.
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    callbacksOf.delete(signal);
    signal.removeEventListener("abort", runCallbacks);
  };
}

function addListener(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  callbacksOf.set(signal, callbacks);
  signal.addEventListener("abort", runCallbacks, { once: true });
  return callbacks;
}

function runCallbacks({ target }: Event): void {
  for (const callback of callbacksOf.get(target as AbortSignal) ?? []) callback();
}
