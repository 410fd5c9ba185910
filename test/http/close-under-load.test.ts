import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { clientOf, createHttpGuard, sendRejection } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import express from "express";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "./support/listen.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";

/** Limiters that are replaced while requests are under way: each request is decided by one of them, and none fails. */

const redis = useRedis();
const ROUNDS = process.env["HEADGATE_LONG"] === "1" ? 200 : 20;
const TOGETHER = 13;

const stores: readonly [string, () => Store][] = [
  ["memory", () => memoryStore()],
  ["Redis", () => redisStore(redis, { prefix: uniquePrefix() })],
];

/** So that each limiter has limits that no other one of its name may have while it is open. */
function optionsOf(store: Store, round: number) {
  const limits = fixedWindow({ limit: 1_000_000 + round, window: "1h" });
  return { name: "api", limits, store, storeTimeout: "1m" } as const;
}

/** Makes calls all the time while `swap` replaces what they use, and returns how each ended. */
async function underLoad(
  call: () => Promise<unknown>,
  swap: (round: number) => Promise<void>,
  gate = createGate(),
) {
  const seen = new Map<unknown, number>();
  let isOver = false;
  const load = Array.from({ length: TOGETHER }, async (_, i) => {
    for (let turn = 0; turn < i; turn += 1) await setImmediate();
    while (!isOver) {
      const outcome = await call();
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      // Memory answers in the same turn.
      await setImmediate();
    }
  });
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (let turn = 0; turn < round % 7; turn += 1) await setImmediate();
    await swap(round);
  }
  isOver = true;
  gate.openForGood();
  await Promise.all(load);
  return Object.fromEntries(seen);
}

/** A key, or a call, that ends when it is told to: what is under way is known while something is replaced. */
function createGate() {
  const held: (() => void)[] = [];
  let isOpen = false;
  const open = (): void => {
    for (const go of held.splice(0)) go();
  };
  return {
    async pass(): Promise<string> {
      if (!isOpen) await new Promise<void>((resolve) => held.push(resolve));
      return "u";
    },
    /** Resolves once something is held. */
    async fill(): Promise<void> {
      while (held.length === 0) await setImmediate();
    },
    open,
    openForGood(): void {
      isOpen = true;
      open();
    },
  };
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

describe.each(stores)("on %s", (_, makeStore) => {
  test("Express responds to every request while its middleware is replaced", async () => {
    const store = makeStore();
    const gate = createGate();
    const make = (round: number) => rateLimit({ ...optionsOf(store, round), key: gate.pass });
    let current = make(0);
    const app = express();
    app.use((req, res, next) => current(req, res, next));
    app.get("/", (_req, res) => void res.send("ok"));
    const { port } = (await listen(app)).address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const seen = await underLoad(
      () => statusOf(url),
      async (round) => {
        await gate.fill();
        const closing = current.close();
        current = make(round);
        gate.open();
        await closing;
      },
      gate,
    );
    await current.close();
    expect(Object.keys(seen)).toEqual(["200"]);
  });

  test("Fastify responds to every request while the guard of a hook is replaced", async () => {
    const store = makeStore();
    const gate = createGate();
    const make = (round: number) =>
      createHttpGuard("limit", { ...optionsOf(store, round), key: gate.pass });
    let current = make(0);
    const app = Fastify();
    onTestFinished(() => app.close());
    app.addHook("onRequest", async (request, reply) => {
      const verdict = await current.check(request, clientOf(request.ip, request.raw));
      if (verdict.kind !== "denied") return;
      sendRejection(reply.raw, verdict.rejection);
      reply.hijack();
    });
    app.get("/", async () => "ok");
    const url = await app.listen({ port: 0 });
    const seen = await underLoad(
      () => statusOf(url),
      async (round) => {
        await gate.fill();
        const closing = current.close();
        current = make(round);
        gate.open();
        await closing;
      },
      gate,
    );
    await current.close();
    expect(Object.keys(seen)).toEqual(["200"]);
  });

  test("calls of a limiter are decided, and charged or refunded, while it is replaced", async () => {
    const store = makeStore();
    let current = createLimiter(optionsOf(store, 0));
    const seen = await underLoad(
      async () => (await current.consume("u")).allowed,
      async (round) => {
        const before = current;
        const decided = before.consume("u");
        const looked = before.peek("u");
        const charged = before.charge("u");
        const closing = before.close();
        current = createLimiter(optionsOf(store, round));
        await closing;
        expect(await Promise.all([decided, looked, charged])).toMatchObject([
          { allowed: true, degraded: false },
          { allowed: true, degraded: false },
          { charged: 1, degraded: false },
        ]);
        await expect(before.consume("u")).rejects.toMatchObject({ code: "HEADGATE_CLOSED" });
      },
    );
    await current.close();
    expect(Object.keys(seen)).toEqual(["true"]);
  });

  test("calls through a breaker finish while it is replaced", async () => {
    const store = makeStore();
    const make = (round: number) =>
      createBreaker({ name: "api", store, storeTimeout: "1m", minimumCalls: 100 + round });
    const gate = createGate();
    let current = make(0);
    const seen = await underLoad(
      () => current.run(gate.pass),
      async (round) => {
        await gate.fill();
        const closing = current.close();
        current = make(round);
        gate.open();
        await closing;
      },
      gate,
    );
    await current.close();
    expect(Object.keys(seen)).toEqual(["u"]);
  });
});
