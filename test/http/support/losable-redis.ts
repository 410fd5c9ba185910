import type { Clock, Store } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, onTestFinished } from "vitest";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import { nextMessage } from "./next-message.ts";

/** A Redis server for one suite, which can be frozen and restored. */
export interface LosableRedis {
  /** Opens an empty store on a client of its own until the test ends, on the clock of the test if one is given. */
  openStore(clock?: Clock): Promise<Store>;
  /** Freezes the server. The next call is still sent, and runs when the server is restored. */
  lose(): void;
  /** Restores the server without waiting for its clients. */
  thaw(): void;
  /** Restores the server, and resolves when a store that was found down is up again. */
  restore(): Promise<void>;
}

export function useLosableRedis(): LosableRedis {
  let server: RedisProcess;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(() => server.thaw());
  afterAll(() => server.stop());
  let opened = 0;
  return {
    async openStore(clock) {
      const client = new Redis(server.socket);
      client.on("error", () => {});
      onTestFinished(() => client.disconnect());
      await client.ping();
      opened += 1;
      return redisStore(client, { prefix: `losable-${opened}`, clock });
    },
    lose: () => server.freeze(),
    thaw: () => server.thaw(),
    async restore() {
      const up = nextMessage(CHANNELS.storeUp);
      server.thaw();
      await up;
    },
  };
}
