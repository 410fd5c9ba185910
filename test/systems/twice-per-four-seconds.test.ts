import { createLimiter, slidingLog } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { describeStores } from "./stores.ts";

interface Call {
  readonly user: string | undefined;
}

/** The subject of a call, as an application would compute it for any job. */
function keyOf({ user }: Call): string {
  return user ?? "";
}

describeStores("six", (open) => {
  async function start() {
    let now = 1_800_000_000_000;
    const limiter = createLimiter({
      ...STORE_ALONE,
      name: "twice per 4 s",
      limits: slidingLog({ limit: 2, window: "4s" }),
      store: await open(() => now),
    });
    const admitted: number[] = [];
    return {
      admitted,
      limiter,
      async ask(second: number, call: Call) {
        now = 1_800_000_000_000 + second * 1_000;
        if ((await limiter.consume(keyOf(call))).allowed) admitted.push(second);
      },
    };
  }

  test.each([1, 10, 50])(
    "twice per 4 s is six in ten seconds, asked %i times a second",
    async (rate) => {
      const { ask, admitted } = await start();
      for (let i = 0; i < 10 * rate; i += 1) await ask(i / rate, { user: "ann" });
      expect(admitted).toHaveLength(6);
      // Two, and two more each time the first of them are four seconds old.
      const step = 1 / rate;
      expect(admitted).toEqual([0, step, 4, 4 + step, 8, 8 + step]);
    },
  );

  test("users do not take from each other", async () => {
    const { ask, admitted } = await start();
    for (const user of ["ann", "bob", "cy", "ann", "bob", "cy", "ann", "bob", "cy"]) {
      await ask(0, { user });
    }
    expect(admitted).toHaveLength(6);
  });

  test("a call without a user is an error, not one bucket for all who have none", async () => {
    const { ask, admitted } = await start();
    for (let i = 0; i < 5; i += 1) {
      await expect(ask(0, { user: undefined })).rejects.toMatchObject({
        code: "HEADGATE_EMPTY_KEY",
      });
    }
    expect(admitted).toEqual([]);
    await ask(0, { user: "ann" });
    expect(admitted).toEqual([0]);
  });
});
