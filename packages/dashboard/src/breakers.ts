import { breakerOptionsOf } from "@headgate/core/admin";
import { codeOf } from "@headgate/core/internal";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import type { FleetReader } from "./fleet-reader.ts";
import type { BreakerLike, BreakerTargetLike, TargetSnapshot } from "./options.ts";
import { badRequest, HttpError, storeUnavailable } from "./serve/http-error.ts";

type CreateBreaker = (options: never) => BreakerLike;

/**
 * Calls `use` with a breaker like the fleet's, and then closes it. Rejects with an `HttpError` if the registry has no such breaker, or
 * several different ones, and if this process has it with other options or cannot read them.
 */
export async function useBreaker<T>(
  reader: FleetReader,
  createBreaker: CreateBreaker,
  name: string,
  use: (breaker: BreakerLike) => Promise<T>,
): Promise<T> {
  const options = await findOptions(reader, name);
  const breaker = createLike(reader, createBreaker, { ...options, name });
  try {
    return await use(breaker);
  } finally {
    await breaker.close();
  }
}

async function findOptions({ loadRegistry }: FleetReader, name: string): Promise<object> {
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

/**
 * Creates a breaker on a store without a registry, so that the dashboard's process is not listed as a caller of its targets. It waits
 * for Redis as long as the dashboard, unless this process has the same breaker, which is then shared with its timeout.
 */
function createLike(
  { client, store: { prefix }, timeoutMs: storeTimeout }: FleetReader,
  createBreaker: CreateBreaker,
  options: object,
): BreakerLike {
  const store = redisStore(client as RedisClient, { prefix, registry: false });
  let error: unknown;
  for (const timeouts of [{ storeTimeout }, {}]) {
    try {
      return createBreaker({ ...options, store, ...timeouts } as never);
    } catch (thrown) {
      error = thrown;
      if (codeOf(thrown) !== "HEADGATE_DUPLICATE_NAME") break;
    }
  }
  switch (codeOf(error)) {
    case "HEADGATE_INVALID_OPTION":
      throw badRequest("this version of Headgate cannot read the breaker's options");
    case "HEADGATE_DUPLICATE_NAME":
      throw badRequest(
        "this process has the breaker with other options: use the headgate command instead",
      );
    default:
      throw error;
  }
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
