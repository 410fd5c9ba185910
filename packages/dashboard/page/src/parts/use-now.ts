import { useEffect, useState } from "preact/hooks";
import { serverNow } from "../client/server-clock.ts";

/** The server's time in milliseconds since the epoch, updated every second while the tab is visible. */
export function useNow(): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(serverNow());
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
