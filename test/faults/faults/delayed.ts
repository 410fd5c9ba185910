import type { Fault } from "./fault.ts";
import type { ProxiedTarget } from "./server-target.ts";
import { startProxied } from "./server-target.ts";

export const delayed: Fault<ProxiedTarget> = {
  name: "replies delayed",
  title: "every reply 300 to 900 ms late",
  start: startProxied,
  async inject({ proxy }, random) {
    // The timeout counts only the time in which the event loop runs: even a busy process must time out before the reply arrives.
    proxy.delayReplies(random.whole(300, 900));
    return async () => proxy.delayReplies(0);
  },
  loses: "nothing",
  degrades: "all",
  isOutage: true,
};
