import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { RedisProcess } from "./redis-process.ts";
import { startRedis } from "./redis-process.ts";

/** A server for one suite, emptied before each test, so that it contains only data of the test. */
export interface OwnRedis {
  readonly client: Redis;
  readonly server: RedisProcess;
  /** All keys as bytes. */
  scan(): Promise<Buffer[]>;
}

/** Starts such a server for a suite. */
export function useOwnRedis(): OwnRedis {
  let server: RedisProcess | undefined;
  let client: Redis | undefined;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.socket);
  });
  afterAll(async () => {
    client?.disconnect();
    await server?.stop();
  });
  beforeEach(() => client?.flushall());
  return {
    get client() {
      return client as Redis;
    },
    get server() {
      return server as RedisProcess;
    },
    async scan() {
      const found: Buffer[] = [];
      let cursor = "0";
      do {
        const [next, keys] = await (client as Redis).scanBuffer(cursor, "COUNT", 10_000);
        found.push(...keys);
        cursor = next.toString();
      } while (cursor !== "0");
      return found;
    },
  };
}
