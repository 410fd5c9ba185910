import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const scriptFlush: Fault<ServerTarget> = {
  name: "scripts flushed",
  title: "SCRIPT FLUSH every millisecond",
  start: () => startServer(),
  async inject({ admin }) {
    let isHealed = false;
    const flushing = (async () => {
      while (!isHealed) {
        await admin.script("FLUSH");
        await delay(1);
      }
    })();
    return async () => {
      isHealed = true;
      await flushing;
    };
  },
  loses: "nothing",
  degrades: "none",
  isOutage: false,
};
