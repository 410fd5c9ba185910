import type { Connection } from "../connect/connection.ts";

/** How many keys a server looks at in one step. */
const STEP = 1_000;

/** What is said of a scan while it goes on. */
export interface ScanProgress {
  /** How many keys will be looked at. */
  begin(keys: number): void;
  /** How many have been. */
  go(keys: number): void;
  end(): void;
}

/** The keys that match a pattern, and how many were looked at. */
export interface Scanned {
  readonly keys: readonly string[];
  readonly looked: number;
  /** Whether all keys were looked at. */
  readonly isWhole: boolean;
}

/**
 * Looks at so many keys at most, on a cluster on each of its primaries in turn. Rejects as the client does, and with the signal's
 * reason.
 */
export async function scanKeys(
  client: Connection["client"],
  pattern: string,
  most: number,
  progress: ScanProgress,
  signal: AbortSignal,
): Promise<Scanned> {
  const servers = "nodes" in client ? client.nodes("master") : [client];
  const sizes = await Promise.all(servers.map((server) => server.dbsize()));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  const found = new Set<string>();
  let looked = 0;
  let isWhole = true;
  progress.begin(Math.min(all, most));
  try {
    for (const [i, server] of servers.entries()) {
      const before = looked;
      let cursor = "0";
      do {
        signal.throwIfAborted();
        if (looked >= most) {
          isWhole = false;
          break;
        }
        const step = Math.min(STEP, most - looked);
        const [next, keys] = await server.scan(cursor, "MATCH", pattern, "COUNT", step);
        for (const key of keys) found.add(key);
        cursor = next;
        looked = Math.min(looked + step, before + (sizes[i] ?? 0));
        progress.go(looked);
      } while (cursor !== "0");
    }
  } finally {
    progress.end();
  }
  return { keys: [...found], looked, isWhole };
}
