import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

const FILLER = "x".repeat(4_000_000);

export const outOfMemory: Fault<ServerTarget> = {
  name: "out of memory",
  title: "full (maxmemory, noeviction), later freed",
  start: () => startServer(["--maxmemory-policy", "noeviction"]),
  async inject({ admin }) {
    // Other data fills the memory completely, so that changes in the clients' buffers cannot free any.
    await admin.set("filler", FILLER);
    await admin.config("SET", "maxmemory", FILLER.length);
    return async () => {
      await admin.del("filler");
    };
  },
  loses: "nothing",
  degrades: "all",
  isOutage: true,
};
