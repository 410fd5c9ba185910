import type { Redis } from "ioredis";
import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const ttlRemoved: Fault<ServerTarget> = {
  name: "TTL removed",
  title: "PERSIST on every key",
  start: () => startServer(),
  async breakIt({ admin }) {
    const persisted = new Map<string, Buffer | null>();
    for (const key of await admin.keys("*")) {
      await admin.persist(key);
      persisted.set(key, await admin.getBuffer(key));
    }
    // What is written when its time is over must expire again.
    return () => requireExpiry(admin, persisted);
  },
  forgets: "nothing",
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
    // Behind the stamp and the generation: the second until which the key was to live, and is rewritten in place.
    if (ttl === -1 && stampOf(value) / 1_000_000 > value.readUInt32BE(11)) {
      throw new Error(`${key} was written after its time, and does not expire`);
    }
  }
  if (written === 0) throw new Error("no key was written after its TTL was removed");
}

/** When it was written, in microseconds. */
function stampOf(value: Buffer): number {
  return Number(value.readBigUInt64BE(0) >> 8n);
}
