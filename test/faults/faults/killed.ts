import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

/** Redis passes every write to the kernel before it replies, so a killed process (unlike a crashed machine) loses nothing. */
const APPEND_ONLY = ["--appendonly", "yes", "--appendfsync", "no"];

export const killed: Fault<ServerTarget> = {
  name: "killed",
  title: "SIGKILL, later started again with its data",
  start: () => startServer(APPEND_ONLY),
  async inject({ server }) {
    await server.kill();
    return () => server.restart();
  },
  loses: "nothing",
  degrades: "all",
  isOutage: true,
};
