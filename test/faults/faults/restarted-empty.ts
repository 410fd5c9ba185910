import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const restartedEmpty: Fault<ServerTarget> = {
  name: "restarted empty",
  title: "restarted at once, without its data and its scripts",
  start: () => startServer(),
  async breakIt({ server }) {
    await server.restart();
    return async () => {};
  },
  forgets: "everything",
  degrades: "none",
  isOutage: false,
};
