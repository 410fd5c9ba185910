import type { Redis } from "ioredis";
import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const ttlRemoved: Fault<ServerTarget> = {
  name: "TTL removed",
  title: "PERSIST on every key",
  start: () => startServer(),
  async inject({ admin }) {
    const persisted = new Map<string, Buffer | null>();
    for (const key of await admin.keys("*")) {
      await admin.persist(key);
      persisted.set(key, await admin.getBuffer(key));
    }
    // A key that is written after its time must get a TTL again.
    return () => requireExpiry(admin, persisted);
  },
  loses: "nothing",
  degrades: "none",
  isOutage: false,
};

async function requireExpiry(
  admin: Redis,
  persisted: ReadonlyMap<string, Buffer | null>,
): Promise<void> {
  let written = 0;
  for (const [key, before] of persisted) {
    const ttl = await admin.pttl(key);
    const value = await admin.getBuffer(key);
    if (value === null || before?.equals(value)) continue;
    written += 1;
    // Bytes 11 to 14 follow the stamp and the generation: they hold the second of expiry, until which a key is rewritten in place.
    if (ttl === -1 && stampOf(value) / 1_000_000 > value.readUInt32BE(11)) {
      throw new Error(`${key} was written after its time, and does not expire`);
    }
  }
  if (written === 0) throw new Error("no key was written after its TTL was removed");
}

/** The time of the write, in microseconds. */
function stampOf(value: Buffer): number {
  return Number(value.readBigUInt64BE(0) >> 8n);
}
