import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "./fault.ts";
import type { ProxiedTarget } from "./server-target.ts";
import { startProxied } from "./server-target.ts";

/** Enough to cut some replies before their first byte, some within, and some between two. */
const MOST_BYTES = 120;

export const cut: Fault<ProxiedTarget> = {
  name: "replies cut",
  title: "connections cut in the middle of a reply, one every 20 ms",
  start: startProxied,
  async breakIt({ proxy }, random) {
    let isHealed = false;
    const cutting = (async () => {
      while (!isHealed) {
        proxy.cutReply(random.whole(0, MOST_BYTES));
        await delay(20);
      }
    })();
    return async () => {
      isHealed = true;
      await cutting;
    };
  },
  forgets: "nothing",
  degrades: "none",
  isOutage: false,
};
