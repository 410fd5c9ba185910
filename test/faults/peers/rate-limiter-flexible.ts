import type { RateLimiterRes } from "rate-limiter-flexible";
import { RateLimiterMemory, RateLimiterRedis } from "rate-limiter-flexible";
import type { Caller, DecisionSource } from "../callers/caller.ts";
import type { Library } from "../clients.ts";
import { makeClient } from "../clients.ts";
import type { Endpoint } from "../endpoint.ts";
import { flexibleOptions } from "./peer-options.ts";

/** Remembers its decisions, because a result does not show which limiter made it. */
class MarkedMemory extends RateLimiterMemory {
  readonly decided = new WeakSet<RateLimiterRes>();

  override async consume(key: string | number, points?: number): Promise<RateLimiterRes> {
    try {
      const result = await super.consume(key, points);
      this.decided.add(result);
      return result;
    } catch (denial) {
      this.decided.add(denial as RateLimiterRes);
      throw denial;
    }
  }
}

/** rate-limiter-flexible with an insurance limiter in memory; the "rejecting" settings add `rejectIfRedisNotReady`. */
export async function makeFlexible(
  library: Library,
  settings: "default" | "rejecting",
  endpoint: Endpoint,
): Promise<Caller> {
  const client = makeClient(library, endpoint);
  const isRejecting = settings === "rejecting";
  const name = `rate-limiter-flexible, ${library}${isRejecting ? ", rejectIfRedisNotReady" : ""}`;
  const insuranceLimiter = new MarkedMemory(flexibleOptions);
  const limiter = new RateLimiterRedis({
    ...flexibleOptions,
    keyPrefix: name,
    storeClient: client.client,
    useRedisPackage: library === "node-redis",
    rejectIfRedisNotReady: isRejecting,
    insuranceLimiter,
  });

  /** Separates denials, which the limiter throws, from errors, which it throws too. */
  async function decide(subject: string): Promise<{ result: RateLimiterRes; allowed: boolean }> {
    try {
      return { result: await limiter.consume(subject), allowed: true };
    } catch (thrown) {
      if (thrown instanceof Error) throw thrown;
      return { result: thrown as RateLimiterRes, allowed: false };
    }
  }

  return {
    name,
    client,
    async consume(subject) {
      const requestedAt = performance.now();
      const { result, allowed } = await decide(subject);
      const decidedAt = performance.now();
      const source: DecisionSource = insuranceLimiter.decided.has(result) ? "fallback" : "store";
      return { isAdmitted: allowed, source, requestedAt, decidedAt };
    },
    async close() {
      await client.close();
    },
  };
}
