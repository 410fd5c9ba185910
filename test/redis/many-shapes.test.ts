import type { Socket } from "node:net";
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect, onTestFinished, test, vi } from "vitest";
import { uniquePrefix } from "../http/support/redis-client.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { connect } from "./clients.ts";
import { STORE_ALONE } from "./store-alone.ts";

const own = useOwnRedis();

/** More than a store has lines for, so that the oldest are closed with calls that wait in them. */
const SHAPES = 1_100;

test("calls of more shapes than the store has batchers are all answered, and each shape keeps its count", async () => {
  const limiter = createLimiter({
    ...STORE_ALONE,
    name: "many",
    limits: fixedWindow({ limit: 5, window: "1h" }),
    store: redisStore(own.client, { prefix: uniquePrefix() }),
  });
  onTestFinished(() => limiter.close());
  for (const remaining of [4, 3]) {
    const decisions = await Promise.all(
      Array.from({ length: SHAPES }, (_, i) =>
        limiter.consume("ada", { limits: fixedWindow({ limit: 5, window: 10_000_000 + i }) }),
      ),
    );
    expect(new Set(decisions.map((decision) => decision.source))).toEqual(new Set(["store"]));
    expect(new Set(decisions.map((decision) => decision.remaining))).toEqual(new Set([remaining]));
  }
});

test.each(["ioredis 6", "ioredis 5", "iovalkey"] as const)(
  "decisions of 50 shapes that are made together leave the process in one write, through %s",
  async (name) => {
    const { client, close } = await connect[name](own.server.socket);
    onTestFinished(async () => {
      await close();
    });
    const limiter = createLimiter({
      ...STORE_ALONE,
      name: "together",
      limits: fixedWindow({ limit: 5, window: "1h" }),
      store: redisStore(client, { prefix: uniquePrefix() }),
    });
    onTestFinished(() => limiter.close());
    const decideAll = () =>
      Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          limiter.consume("ada", { limits: fixedWindow({ limit: 5, window: 20_000_000 + i }) }),
        ),
      );
    await decideAll();
    const writes = countWrites((client as object as { readonly stream: Socket }).stream);
    const decisions = await decideAll();
    expect(decisions.every(({ remaining }) => remaining === 3)).toBe(true);
    // The control record may be read at the same time.
    expect([1, 2]).toContain(writes());
  },
);

/** Counts how often a socket writes from now on. */
function countWrites(socket: Socket): () => number {
  const spies = [vi.spyOn(socket, "_write"), vi.spyOn(socket, "_writev" as "_write")];
  return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
}
