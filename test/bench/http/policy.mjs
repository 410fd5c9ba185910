import { gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";

export const WINDOW_MS = 3_600_000;

/** A limit that a run does not reach, and one that admits only the first request. */
export const LIMITS = { allowed: 10_000_000, denied: 1 };

/** Over both stores: Headgate as in its first example, per address. */
export function headgateOptions({ key, client, limit }) {
  return {
    name: key,
    limits: gcra({ limit, window: WINDOW_MS }),
    ...(client === undefined
      ? {}
      : {
          store: redisStore(client),
          // Three processes share the cores here; what is measured must be decided by Redis.
          storeTimeout: "10s",
        }),
  };
}
