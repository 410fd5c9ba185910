import { subscribe } from "node:diagnostics_channel";
import {
  CHANNELS,
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";

/** Fails for decisions without the store, which the benchmark does not measure. */
subscribe(CHANNELS.degraded, ({ reason }) => {
  throw reason;
});

/** Each algorithm with the same quota. */
export const ALGORITHMS = {
  gcra: (limit, window) => gcra({ limit, window }),
  tokenBucket: (limit, window) => tokenBucket({ capacity: limit, refill: limit, every: window }),
  fixedWindow: (limit, window) => fixedWindow({ limit, window }),
  slidingWindow: (limit, window) => slidingWindow({ limit, window }),
  "slidingWindow, 10 buckets": (limit, window) => slidingWindow({ limit, window, buckets: 10 }),
  slidingLog: (limit, window) => slidingLog({ limit, window }),
};

/** A limiter of any client, with options of its own. */
export function makeHeadgate(
  { client, quotas, prefix },
  { algorithm = "gcra", per, ...options } = {},
) {
  const make = ALGORITHMS[algorithm];
  const limits = quotas.map(({ limit, windowMs }) => ({
    ...make(limit, windowMs),
    ...(per === undefined ? {} : { per }),
  }));
  const limiter = createLimiter({
    name: prefix,
    limits,
    store: redisStore(client),
    // On a busy machine Redis must not time out; no measured call waits that long.
    storeTimeout: "10s",
    ...options,
  });
  return {
    limiter,
    consume: (subject) => limiter.consume(subject),
    isAllowed: ({ allowed }) => allowed,
    async used(subject) {
      const { limit, remaining } = await limiter.peek(subject);
      return limit - remaining;
    },
  };
}
