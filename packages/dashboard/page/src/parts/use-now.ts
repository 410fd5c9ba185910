import { useEffect, useState } from "preact/hooks";
import { serverNow } from "../client/server-clock.ts";

type Show = (now: number) => void;

/** All shown times, which one timer updates together. */
const shown = new Set<Show>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The server's time in milliseconds since the epoch, updated every second while the tab is visible. */
export function useNow(): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (shown.size === 0) timer = setInterval(updateAll, 1_000);
    shown.add(setNow);
    return () => {
      shown.delete(setNow);
      if (shown.size === 0) clearInterval(timer);
    };
  }, []);
  return now;
}

function updateAll(): void {
  if (document.hidden) return;
  const now = serverNow();
  for (const show of shown) show(now);
}
