import type { Clock, Store } from "@headgate/core";
import { CHANNELS, createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, onTestFinished } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
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
      opened += 1;
      const store = redisStore(client, { prefix: `losable-${opened}`, clock });
      // Before its first answer, calls to a client wait for `connectTimeout`.
      const first = createLimiter({
        ...STORE_ALONE,
        name: "first",
        limits: fixedWindow({ limit: 1, window: 1 }),
        store,
      });
      await first.ready();
      await first.close();
      return store;
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
