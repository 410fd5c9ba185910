/**
 * The store that keeps counters in Redis, through your application's client.
 *
 * @packageDocumentation
 */

export type { IoredisLike, NodeRedisLike, RedisClient } from "./client-port.ts";
export type { GlideLike } from "./glide.ts";
export type { RedisStoreOptions, UsageOptions } from "./redis-store.ts";
export { redisStore } from "./redis-store.ts";
