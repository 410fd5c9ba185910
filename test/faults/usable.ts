import type { Caller } from "./callers/caller.ts";
import { HOT } from "./load.ts";

const EVERY_MS = 25;

/** Reads through a caller's own client, again and again, to find out when that works: which is the client's own delay. */
export function watchUsable(caller: Caller): { stop(): [Caller, number][] } {
  let usableAt: number | undefined;
  const client = caller.client.client as unknown as { get(key: string): Promise<unknown> };

  async function look(): Promise<void> {
    try {
      // In the slot of the hot subject's counts.
      await client.get(`{${HOT}}`);
    } catch {
      return;
    }
    usableAt ??= performance.now();
    clearInterval(timer);
  }

  const timer = setInterval(() => void look(), EVERY_MS);
  void look();
  return {
    stop() {
      clearInterval(timer);
      return usableAt === undefined ? [] : [[caller, usableAt]];
    },
  };
}
