import { useEffect, useState } from "preact/hooks";

/** How far the server's clock is ahead of this machine's, in milliseconds. */
let offsetMs = Number.NEGATIVE_INFINITY;

/** Records the server's time from a response: the server's clock cannot be earlier than that now. */
export function recordServerTime(at: number): void {
  offsetMs = Math.max(offsetMs, at - Date.now());
}

/** Milliseconds since the epoch, by the server's clock; by this machine's clock before the first response. */
export function serverNow(): number {
  return Date.now() + (offsetMs === Number.NEGATIVE_INFINITY ? 0 : offsetMs);
}

type Listener = (now: number) => void;

/** The components that show a time; one timer updates all of them. */
const listeners = new Set<Listener>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The server's time in milliseconds since the epoch, updated every second while the tab is visible. */
export function useServerNow(): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (listeners.size === 0) timer = setInterval(updateAll, 1_000);
    listeners.add(setNow);
    return () => {
      listeners.delete(setNow);
      if (listeners.size === 0) clearInterval(timer);
    };
  }, []);
  return now;
}

function updateAll(): void {
  if (document.hidden) return;
  const now = serverNow();
  for (const show of listeners) show(now);
}
