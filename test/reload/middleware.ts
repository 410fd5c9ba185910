import { hotReload } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { byTier, fixedWindow, rateLimit } from "@headgate/express";
import { kept, source } from "./source.ts";

const limits = fixedWindow({ limit: source.limit, window: "1h" });
const options = { store: redisStore(kept.keptRedis), storeTimeout: "30s" } as const;

export const limit = hotReload("limit", () =>
  rateLimit({ name: "reloaded by address", limits, ...options }),
);

export const tiered = hotReload("tiered", () =>
  rateLimit({
    name: "reloaded by tier",
    limits: byTier({ free: limits }, () => "free"),
    ...options,
  }),
);
