import type { Caller } from "./callers/caller.ts";
import { HOT } from "./load.ts";

const INTERVAL_MS = 25;

/** Reads through a caller's own client until a read succeeds, which measures the client's own delay. */
export function watchUsable(caller: Caller): { stop(): [Caller, number][] } {
  let usableAt: number | undefined;
  const client = caller.client.client as unknown as { get(key: string): Promise<unknown> };

  async function read(): Promise<void> {
    try {
      // This key is in the hash slot of the hot subject's counters.
      await client.get(`{${HOT}}`);
    } catch {
      return;
    }
    usableAt ??= performance.now();
    clearInterval(timer);
  }

  const timer = setInterval(() => void read(), INTERVAL_MS);
  void read();
  return {
    stop() {
      clearInterval(timer);
      return usableAt === undefined ? [] : [[caller, usableAt]];
    },
  };
}
