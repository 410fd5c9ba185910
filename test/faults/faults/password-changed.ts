import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const passwordChanged: Fault<ServerTarget> = {
  name: "password changed",
  title: "a password that the clients do not have, their connections ended; later taken back",
  start: () => startServer(),
  async inject({ admin }) {
    await admin.config("SET", "requirepass", "changed");
    await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    return async () => {
      await admin.config("SET", "requirepass", "");
    };
  },
  loses: "nothing",
  degrades: "all",
  isOutage: true,
};
