import type { Clock, Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, inject, onTestFinished } from "vitest";
import type { ClientName } from "../redis/clients.ts";
import { connect } from "../redis/clients.ts";

/** Opens a store on a clock, and closes it when the test ends. */
export type OpenStore = (clock: Clock) => Promise<Store>;

/** Declares the same tests in this process's memory and on Redis, through each of two clients. */
export function describeStores(system: string, declare: (open: OpenStore) => void): void {
  describe("in memory", () => {
    declare(async (clock) => memoryStore({ clock }));
  });
  const clients: ClientName[] = ["ioredis 6", "node-redis 6"];
  describe.each(clients)("on Redis, through %s", (name) => {
    let opened = 0;
    declare(async (clock) => {
      const { client, close } = await connect[name](inject("redisSocket"));
      onTestFinished(async () => {
        await close();
      });
      opened += 1;
      return redisStore(client, {
        prefix: `${system}-${name.replace(" ", "-")}-${opened}`,
        clock,
      });
    });
  });
}
