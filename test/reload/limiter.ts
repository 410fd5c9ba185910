import { createLimiter, fixedWindow, hotReload } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { kept, source } from "./source.ts";

export const limiter = hotReload("limiter", () =>
  createLimiter({
    name: "reloaded",
    limits: fixedWindow({ limit: source.limit, window: "1h" }),
    store: redisStore(kept.keptRedis),
    storeTimeout: "30s",
  }),
);
