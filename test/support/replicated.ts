import { openAdminClient } from "./admin-client.ts";
import type { RedisProcess } from "./redis-process.ts";
import { waitUntil } from "./wait-until.ts";

const REPLICATED_WITHIN_MS = 20_000;

/** Waits until each replica has acknowledged all writes to the primary up to now. */
export async function waitUntilReplicated(primary: RedisProcess): Promise<void> {
  const admin = openAdminClient(primary);
  const read = async () => String(await admin.command("INFO", "replication"));
  try {
    const written = Number(/master_repl_offset:(\d+)/.exec(await read())?.[1]);
    await waitUntil("the replicas have what was written", REPLICATED_WITHIN_MS, async () => {
      const arrived = [...(await read()).matchAll(/^slave\d+:.*,offset=(\d+)/gm)];
      return (
        (arrived.length > 0 && arrived.every(([, offset]) => Number(offset) >= written)) ||
        undefined
      );
    });
  } finally {
    admin.close();
  }
}
