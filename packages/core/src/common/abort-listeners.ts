/** The callbacks of a signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back once when a signal aborts, unless the returned function is called first. We add one listener to a signal however
 * many calls wait for it: thousands of calls may share the signal of a process, and Node warns at eleven listeners.
 */
export function onceAborted(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = waiting.get(signal) ?? listenTo(signal);
  callbacks.add(callback);
  return () => {
    // Unsubscribing twice must not remove the listener of later callers.
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", callAll);
  };
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  waiting.set(signal, callbacks);
  signal.addEventListener("abort", callAll, { once: true });
  return callbacks;
}

function callAll({ target }: Event): void {
  for (const callback of waiting.get(target as AbortSignal) ?? []) callback();
}
