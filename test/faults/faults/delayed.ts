import type { Fault } from "./fault.ts";
import type { ProxiedTarget } from "./server-target.ts";
import { startProxied } from "./server-target.ts";

export const delayed: Fault<ProxiedTarget> = {
  name: "replies delayed",
  title: "every reply 150 to 600 ms late",
  start: startProxied,
  async breakIt({ proxy }, random) {
    proxy.delayReplies(random.whole(150, 600));
    return async () => proxy.delayReplies(0);
  },
  forgets: "nothing",
  degrades: "all",
  isOutage: true,
};
