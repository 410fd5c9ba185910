import { Redis } from "ioredis";

/** A client of the run's Redis, in a database of the suite's own so that it can be emptied. */
export function connectRedis(socket: string, database: number): Redis {
  return new Redis(socket, { db: database, enableAutoPipelining: true });
}
