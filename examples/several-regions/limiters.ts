// One limit of 600 a minute, in several regions: each has a share, or one region decides for all.

import type { Limiter, Store } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";

const LIMIT = 600;

/** On the region's own Redis: no call leaves the region, and all regions together admit no more than the limit. */
export function shareOf(store: Store, regions: number): Limiter {
  const limit = Math.floor(LIMIT / regions);
  return createLimiter({ name: "api", store, limits: gcra({ limit, window: "1m", name: "api" }) });
}

/** On the one Redis that all regions count in, `roundTripMs` away at most. */
export function oneForAll(store: Store, roundTripMs: number, regions: number): Limiter {
  return createLimiter({
    name: "api",
    store,
    limits: gcra({ limit: LIMIT, window: "1m", name: "api" }),
    // A server that does not know the script yet takes two round trips.
    storeTimeout: roundTripMs * 3,
    // A region that is cut off goes on with its share.
    localShare: 1 / regions,
  });
}
