import { useEffect, useState } from "preact/hooks";
import { serverNow } from "../client/server-clock.ts";

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
