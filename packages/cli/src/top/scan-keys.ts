import type { Connection } from "../connect/connection.ts";

/** How many keys one SCAN call visits. */
const KEYS_PER_SCAN = 1_000;

/** Receives the progress of a scan. */
export interface ScanProgress {
  /** Called with the number of keys to scan. */
  start(keys: number): void;
  /** Called with the number of keys scanned so far. */
  update(keys: number): void;
  stop(): void;
}

/** The matching keys, and the number of scanned keys. */
export interface ScanResult {
  readonly keys: readonly string[];
  readonly scanned: number;
  /** Whether all keys were scanned. */
  readonly isComplete: boolean;
}

/**
 * Scans at most `maxKeys` keys, on a cluster on one primary after the other. Rejects like the client, and with the signal's
 * reason.
 */
export async function scanKeys(
  client: Connection["client"],
  pattern: string,
  maxKeys: number,
  progress: ScanProgress,
  signal: AbortSignal,
): Promise<ScanResult> {
  const servers = "nodes" in client ? client.nodes("master") : [client];
  const sizes = await Promise.all(servers.map((server) => server.dbsize()));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  const found = new Set<string>();
  let scanned = 0;
  let isComplete = true;
  progress.start(Math.min(all, maxKeys));
  try {
    for (const [i, server] of servers.entries()) {
      const before = scanned;
      let cursor = "0";
      do {
        signal.throwIfAborted();
        if (scanned >= maxKeys) {
          isComplete = false;
          break;
        }
        const step = Math.min(KEYS_PER_SCAN, maxKeys - scanned);
        const [next, keys] = await server.scan(cursor, "MATCH", pattern, "COUNT", step);
        for (const key of keys) found.add(key);
        cursor = next;
        scanned = Math.min(scanned + step, before + (sizes[i] ?? 0));
        progress.update(scanned);
      } while (cursor !== "0");
    }
  } finally {
    progress.stop();
  }
  return { keys: [...found], scanned, isComplete };
}
