import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const restartedEmpty: Fault<ServerTarget> = {
  name: "restarted empty",
  title: "restarted at once, without its data and its scripts",
  start: () => startServer(),
  isBrief: true,
  async inject({ server }) {
    await server.kill();
    return () => server.restart();
  },
  loses: "everything",
  degrades: "none",
  isOutage: false,
};
