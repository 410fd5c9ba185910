import type { RateLimiterRes } from "rate-limiter-flexible";
import { RateLimiterMemory, RateLimiterRedis } from "rate-limiter-flexible";
import type { Caller, Taker } from "../callers/caller.ts";
import type { Library } from "../clients.ts";
import { makeClient } from "../clients.ts";
import type { Place } from "../place.ts";
import { flexibleOptions } from "./peer-options.ts";

/** Remembers what it decided, since an answer does not say who gave it. */
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

/** rate-limiter-flexible, insured by its limiter in memory; with `rejectIfRedisNotReady` also where it is "advised". */
export async function makeFlexible(
  library: Library,
  settings: "default" | "rejecting",
  place: Place,
): Promise<Caller> {
  const client = makeClient(library, place);
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

  /** A denial is thrown, and so is an error. */
  async function consume(subject: string): Promise<{ result: RateLimiterRes; allowed: boolean }> {
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
    async ask(subject) {
      const decidedFrom = performance.now();
      const { result, allowed } = await consume(subject);
      const decidedAt = performance.now();
      const takenBy: Taker = insuranceLimiter.decided.has(result) ? "fallback" : "store";
      return { isAdmitted: allowed, takenBy, decidedFrom, decidedAt };
    },
    async close() {
      await client.close();
    },
  };
}
