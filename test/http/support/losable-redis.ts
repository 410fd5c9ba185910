import type { Clock, Store } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, onTestFinished } from "vitest";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import { nextMessage } from "./next-message.ts";

/** A server of a suite's own, which can be taken away from its clients and given back. */
export interface LosableRedis {
  /** A store on a client of its own, with nothing in it, until the test ends; on the clock of a test where one is given. */
  openStore(clock?: Clock): Promise<Store>;
  /** From now on it answers nothing. The next call is sent all the same, and is executed when it answers again. */
  lose(): void;
  /** From now on it answers, whoever has noticed that it was away. */
  thaw(): void;
  /** Resolves when its clients' stores, of which one must have been found down, are asked again. */
  giveBack(): Promise<void>;
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
    async giveBack() {
      const up = nextMessage(CHANNELS.storeUp);
      server.thaw();
      await up;
    },
  };
}
