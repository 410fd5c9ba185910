import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

/** Every write is in the kernel's hands before its reply is sent, so that a killed process (not a machine) loses nothing. */
const KEEPS_EVERYTHING = ["--appendonly", "yes", "--appendfsync", "no"];

export const killed: Fault<ServerTarget> = {
  name: "killed",
  title: "SIGKILL, later started again with its data",
  start: () => startServer(KEEPS_EVERYTHING),
  async breakIt({ server }) {
    await server.kill();
    return () => server.restart();
  },
  forgets: "nothing",
  degrades: "all",
  isOutage: true,
};
