import type { Redis } from "ioredis";
import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const ttlRemoved: Fault<ServerTarget> = {
  name: "TTL removed",
  title: "PERSIST on every key",
  start: () => startServer(),
  async breakIt({ admin }) {
    const persisted = new Map<string, string | null>();
    for (const key of await admin.keys("*")) {
      await admin.persist(key);
      persisted.set(key, await admin.get(key));
    }
    // What has been written since must expire again.
    return () => requireExpiry(admin, persisted);
  },
  forgets: "nothing",
  degrades: "none",
  isOutage: false,
};

async function requireExpiry(
  admin: Redis,
  persisted: ReadonlyMap<string, string | null>,
): Promise<void> {
  let written = 0;
  for (const [key, value] of persisted) {
    const [ttl, now] = (await admin.multi().pttl(key).get(key).exec()) ?? [];
    if (now?.[1] === value) continue;
    written += 1;
    if (ttl?.[1] === -1) throw new Error(`${key} was written and does not expire`);
  }
  if (written === 0) throw new Error("no key was written after its TTL was removed");
}
