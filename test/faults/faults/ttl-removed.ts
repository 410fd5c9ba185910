import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const ttlRemoved: Fault<ServerTarget> = {
  name: "TTL removed",
  title: "PERSIST on every key",
  start: () => startServer(),
  async breakIt({ admin }) {
    for (const key of await admin.keys("*")) await admin.persist(key);
    return async () => {};
  },
  losses: 0,
  degrades: "none",
  isOutage: false,
};
