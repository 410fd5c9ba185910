import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const lateAtBoot: Fault<ServerTarget> = {
  name: "late at boot",
  title: "not there when the process starts, there later",
  async start() {
    const target = await startServer();
    await target.server.kill();
    return target;
  },
  isBrokenAtStart: true,
  async inject({ server }) {
    return () => server.restart();
  },
  loses: "nothing",
  degrades: "all",
  isOutage: true,
};
