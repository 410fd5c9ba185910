import { createBreaker } from "@headgate/breaker";
import { hotReload } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { kept, source } from "./source.ts";

export const breaker = hotReload("breaker", () =>
  createBreaker({
    name: "reloaded",
    minimumCalls: source.limit,
    store: redisStore(kept.keptRedis),
    storeTimeout: "30s",
  }),
);
