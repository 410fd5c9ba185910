import { HOT } from "../load.ts";
import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

export const wrongType: Fault<ServerTarget> = {
  name: "wrong type",
  title: "a list planted where a subject's counts were, later deleted",
  start: () => startServer(),
  async inject({ admin }) {
    const keys = await admin.keys(`*{${HOT}}*`);
    if (keys.length === 0) throw new Error("the hot subject has no key");
    for (const key of keys) await admin.multi().del(key).lpush(key, "planted").exec();
    return async () => {
      await admin.del(...keys);
    };
  },
  loses: "hot",
  degrades: "hot",
  isOutage: false,
};
