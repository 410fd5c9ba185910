import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "./fault.ts";
import type { ProxiedTarget } from "./server-target.ts";
import { startProxied } from "./server-target.ts";

/** Cuts some replies before their first byte, some in the middle, and some between two replies. */
const MAX_BYTES = 120;

export const cut: Fault<ProxiedTarget> = {
  name: "replies cut",
  title: "connections cut in the middle of a reply, one every 20 ms",
  start: startProxied,
  async inject({ proxy }, random) {
    let isHealed = false;
    const cutting = (async () => {
      while (!isHealed) {
        proxy.cutReply(random.whole(0, MAX_BYTES));
        await delay(20);
      }
    })();
    return async () => {
      isHealed = true;
      await cutting;
    };
  },
  loses: "nothing",
  degrades: "none",
  isOutage: false,
};
