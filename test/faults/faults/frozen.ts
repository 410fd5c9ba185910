import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const frozen: Fault<ServerTarget> = {
  name: "frozen",
  title: "SIGSTOP, later thawed",
  start: () => startServer(),
  async inject({ server }) {
    server.freeze();
    return async () => server.thaw();
  },
  loses: "nothing",
  degrades: "all",
  isOutage: true,
};
