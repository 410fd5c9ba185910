import { Redis } from "ioredis";
import { afterAll, beforeAll, inject } from "vitest";

/** Connects to the database of this worker, which no concurrent suite uses. All workers share database 0. */
export function connectOwnDatabase(
  options: { readonly maxRetriesPerRequest?: number } = {},
): Redis {
  const db = Number(process.env["VITEST_POOL_ID"]);
  return new Redis(inject("redisSocket"), { ...options, db });
}

/** Several clients of the worker's database for a suite. The database is emptied before and after the suite. */
export function useOwnDatabases(count: number): readonly Redis[] {
  const clients = Array.from({ length: count }, () => connectOwnDatabase());
  beforeAll(() => clients[0]?.flushdb());
  afterAll(async () => {
    await clients[0]?.flushdb();
    await Promise.all(clients.map((client) => client.quit()));
  });
  return clients;
}

/** One client of the worker's database for a suite. */
export function useOwnDatabase(): Redis {
  const [client] = useOwnDatabases(1);
  return client as Redis;
}
