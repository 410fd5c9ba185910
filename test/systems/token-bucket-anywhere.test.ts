import { createLimiter, tokenBucket } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { describeStores } from "./stores.ts";

describeStores("bucket", (open) => {
  /** A bucket of 10 tokens, two a second. */
  async function start() {
    let now = 1_800_000_000_000;
    const store = await open(() => now);
    const make = () =>
      createLimiter({
        ...STORE_ALONE,
        name: "mails",
        limits: tokenBucket({ capacity: 10, refill: 2, every: "1s" }),
        store,
      });
    return {
      make,
      limiter: make(),
      pass(ms: number) {
        now += ms;
      },
    };
  }

  test("is emptied at once, and filled at its rate", async () => {
    const { limiter, pass } = await start();
    for (let left = 9; left >= 0; left -= 1) {
      expect(await limiter.consume("outbox")).toMatchObject({ allowed: true, remaining: left });
    }
    expect(await limiter.consume("outbox")).toMatchObject({ allowed: false, retryAfterMs: 500 });
    pass(500);
    expect((await limiter.consume("outbox")).allowed).toBe(true);
    pass(2_000);
    expect(await limiter.consume("outbox", { cost: 5 })).toMatchObject({
      allowed: false,
      remaining: 4,
      retryAfterMs: 500,
    });
    expect((await limiter.consume("outbox", { cost: 4 })).allowed).toBe(true);
  });

  test("is never fuller than its capacity, however long nobody comes", async () => {
    const { limiter, pass } = await start();
    await limiter.consume("outbox");
    pass(30 * 86_400_000);
    expect((await limiter.consume("outbox", { cost: 11 })).allowed).toBe(false);
    expect((await limiter.consume("outbox", { cost: 10 })).allowed).toBe(true);
  });

  test("is one bucket wherever it is called from: a job, a handler, another module", async () => {
    const { make, limiter } = await start();
    const fromJob = make();
    const fromHandler = make();
    expect((await fromJob.consume("outbox", { cost: 6 })).allowed).toBe(true);
    expect((await fromHandler.consume("outbox", { cost: 4 })).allowed).toBe(true);
    expect((await limiter.consume("outbox")).allowed).toBe(false);
    expect((await limiter.consume("another outbox")).allowed).toBe(true);
  });
});
