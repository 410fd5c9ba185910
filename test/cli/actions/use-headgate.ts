import type { Store } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import { expectDocument } from "../json-schema.ts";
import type { Ended, RunOptions } from "../run-cli.ts";
import { runCli } from "../run-cli.ts";

/** A server that is empty before each test, and the command on it. */
export interface OwnHeadgate {
  readonly client: Redis;
  readonly server: RedisProcess;
  /** A store that is listed only where a test writes the directory. */
  store(): Store;
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Runs with `--json`, and reads what is printed, which its schema describes. */
  json(args: readonly string[], options?: RunOptions): Promise<unknown>;
  /** All keys, each with its value as the server keeps it. */
  dump(): Promise<ReadonlyMap<string, string>>;
}

/** For the tests of a suite. */
export function useHeadgate(): OwnHeadgate {
  let server: RedisProcess;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis({ port: true });
    client = new Redis(server.socket);
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });
  beforeEach(() => client.flushall());

  const run = (args: readonly string[], options?: RunOptions): Promise<Ended> =>
    runCli([...args, "--redis", `redis://127.0.0.1:${server.port}`], options);
  return {
    get client() {
      return client;
    },
    get server() {
      return server;
    },
    store: () => redisStore(client),
    run,
    async json(args, options) {
      const { exitCode, stdout, stderr } = await run([...args, "--json"], options);
      if (exitCode > 1) throw new Error(stderr);
      return expectDocument(args[0] as string, stdout);
    },
    async dump() {
      const keys = (await client.keys("*")).sort();
      const values = await Promise.all(keys.map((key) => client.dumpBuffer(key)));
      return new Map(keys.map((key, i) => [key, values[i]?.toString("hex") ?? ""]));
    },
  };
}
