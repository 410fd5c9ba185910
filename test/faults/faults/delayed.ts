import type { Fault } from "./fault.ts";
import type { ProxiedTarget } from "./server-target.ts";
import { startProxied } from "./server-target.ts";

export const delayed: Fault<ProxiedTarget> = {
  name: "replies delayed",
  title: "every reply 300 to 900 ms late",
  start: startProxied,
  async breakIt({ proxy }, random) {
    // A process counts the time that it runs itself: a busy one must reach storeTimeout before the reply comes.
    proxy.delayReplies(random.whole(300, 900));
    return async () => proxy.delayReplies(0);
  },
  forgets: "nothing",
  degrades: "all",
  isOutage: true,
};
