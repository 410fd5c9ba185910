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

/** The algorithms whose limits make the shapes: each list of up to three is one. */
const SHAPE_ALGORITHMS = ["gcra", "fixedWindow", "slidingWindow", "slidingWindow, 10 buckets"];

/** So many limiters, each of whose policies needs a script of its own; calls take them in turns. */
export function makeShapes({ client, quotas: [{ limit, windowMs }], prefix }, count) {
  const lists = [[]];
  // Each list is followed by those that are longer by one, so that short ones come first.
  for (const list of lists) {
    if (list.length < 3) lists.push(...SHAPE_ALGORITHMS.map((name) => [...list, name]));
  }
  const limiters = lists.slice(1, count + 1).map((names, i) =>
    createLimiter({
      name: `${prefix}-${i}`,
      limits: names.map((name, hour) => ALGORITHMS[name](limit, windowMs * (hour + 1))),
      store: redisStore(client),
      storeTimeout: "10s",
    }),
  );
  let calls = 0;
  return {
    consume(subject) {
      calls += 1;
      return limiters[calls % limiters.length].consume(subject);
    },
    isAllowed: ({ allowed }) => allowed,
  };
}
