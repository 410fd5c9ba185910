import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

const FILLING = "x".repeat(4_000_000);

export const outOfMemory: Fault<ServerTarget> = {
  name: "out of memory",
  title: "full (maxmemory, noeviction), later freed",
  start: () => startServer(["--maxmemory-policy", "noeviction"]),
  async breakIt({ admin }) {
    // Somebody else's data takes all there is, and leaves no byte that comes and goes with the clients' buffers.
    await admin.set("filling", FILLING);
    await admin.config("SET", "maxmemory", FILLING.length);
    return async () => {
      await admin.del("filling");
    };
  },
  forgets: "nothing",
  degrades: "all",
  isOutage: true,
};
