import { breakerOptionsOf } from "@headgate/core/admin";
import { codeOf } from "@headgate/core/internal";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import type { FleetReader } from "./fleet-reader.ts";
import type { BreakerLike, BreakerTargetLike, TargetSnapshot } from "./options.ts";
import { badRequest, HttpError, storeUnavailable } from "./serve/http-error.ts";

/**
 * Creates a breaker like the fleet's on a store without a registry, so that the dashboard's process is not listed as a caller of
 * its targets. It waits for Redis as long as the dashboard, unless this process has the same breaker, which is then shared with its
 * timeout. Throws an `HttpError` if this process has the breaker with other options, or cannot read them.
 */
export function createControlBreaker(
  { client, store: { prefix }, timeout }: Pick<FleetReader, "client" | "store" | "timeout">,
  createBreaker: (options: never) => BreakerLike,
  options: object,
  name: string,
): BreakerLike {
  const store = redisStore(client as RedisClient, { prefix, registry: false });
  const withTimeout = { ...options, name, store, storeTimeout: timeout };
  try {
    return (
      createUnlessTaken(createBreaker, withTimeout) ??
      createBreaker({ ...options, name, store } as never)
    );
  } catch (error) {
    const code = codeOf(error);
    if (code === "HEADGATE_INVALID_OPTION") {
      throw badRequest("this version of Headgate cannot read the breaker's options");
    }
    if (code !== "HEADGATE_DUPLICATE_NAME") throw error;
    throw badRequest(
      "this process has the breaker with other options: use the headgate command instead",
    );
  }
}

/** Undefined if this process has a breaker of this name with other options. */
function createUnlessTaken(
  createBreaker: (options: never) => BreakerLike,
  options: object,
): BreakerLike | undefined {
  try {
    return createBreaker(options as never);
  } catch (error) {
    if (codeOf(error) === "HEADGATE_DUPLICATE_NAME") return undefined;
    throw error;
  }
}

/** The options of a breaker in the registry. Rejects with an `HttpError` if there are none, or several different ones. */
export async function findBreakerOptions(
  { loadRegistry }: Pick<FleetReader, "loadRegistry">,
  name: string,
): Promise<Readonly<Record<string, unknown>>> {
  const found = (await loadRegistry()).breakers.filter((one) => one.name === name);
  const [first] = found;
  if (first === undefined) throw unknownBreaker();
  if (first.isTruncated === true)
    throw badRequest("the breaker's options are too long to be listed");
  if (new Set(found.map(({ fingerprint }) => fingerprint)).size > 1) {
    throw badRequest(
      "processes have this breaker with different options: use the headgate command instead",
    );
  }
  return breakerOptionsOf(first.options);
}

/** Reads the state of a target. Rejects with an `HttpError` while the store is unavailable. */
export async function readTarget(target: BreakerTargetLike): Promise<TargetSnapshot> {
  const snapshot = await target.snapshot();
  if (snapshot.degraded) throw storeUnavailable();
  return snapshot;
}

export function unknownBreaker(): HttpError {
  return new HttpError(404, "UNKNOWN_BREAKER", "there is no breaker of this name");
}
