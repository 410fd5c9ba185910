import { Redis } from "ioredis";
import { afterAll, beforeAll, inject } from "vitest";

/** A client of a database that no suite uses which runs at the same time: each worker of the run has one, and 0 is for all. */
export function connectOwnDatabase(
  options: { readonly maxRetriesPerRequest?: number } = {},
): Redis {
  const db = Number(process.env["VITEST_POOL_ID"]);
  return new Redis(inject("redisSocket"), { ...options, db });
}

/** As many clients of it for the tests of a suite, at whose begin and end it is empty. */
export function useOwnDatabases(count: number): readonly Redis[] {
  const clients = Array.from({ length: count }, () => connectOwnDatabase());
  beforeAll(() => clients[0]?.flushdb());
  afterAll(async () => {
    await clients[0]?.flushdb();
    await Promise.all(clients.map((client) => client.quit()));
  });
  return clients;
}

/** One such client. */
export function useOwnDatabase(): Redis {
  const [client] = useOwnDatabases(1);
  return client as Redis;
}
