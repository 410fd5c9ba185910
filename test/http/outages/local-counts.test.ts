import type { Store } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { useLosableRedis } from "../support/losable-redis.ts";

/** Nothing comes back while a test runs. */
const limits = fixedWindow({ limit: 10, window: "1d" });

/** Longer than the default, for a machine that does other things as well. */
const storeTimeout = "300ms" as const;

/** What the server itself has counted for a user. */
async function countedIn(store: Store): Promise<number> {
  const limiter = createLimiter({ name: "api", limits, store, storeTimeout: "10s" });
  const { remaining, source } = await limiter.peek("one");
  await limiter.close();
  expect(source).toBe("store");
  // It reports what would be left.
  return 10 - 1 - remaining;
}

describeAdapters(({ serve }) => {
  const redis = useLosableRedis();
  const key = () => "one";

  test("local counts stay for the next outage, and are not written back", async () => {
    const store = await redis.openStore();
    const { sendRequest } = await serve({
      limits: { name: "api", limits, store, storeTimeout, key },
    });
    const remaining = async () => (await sendRequest()).headers["x-ratelimit-remaining"];
    expect(await remaining()).toBe("9");
    redis.lose();
    for (const left of ["9", "8", "7", "6", "5", "4"]) expect(await remaining()).toBe(left);
    await redis.restore();
    // The request that found out was executed when the server answered again; no other was sent.
    expect(await countedIn(store)).toBe(2);
    expect(await remaining()).toBe("7");
    redis.lose();
    for (const left of ["3", "2", "1", "0"]) expect(await remaining()).toBe(left);
    expect((await sendRequest()).status).toBe(429);
    await redis.restore();
    expect(await countedIn(store)).toBe(4);
    expect(await remaining()).toBe("5");
  });

  test("limiters with the same name share local counts", async () => {
    const store = await redis.openStore();
    const shared = { name: "api", limits, store, storeTimeout, key } as const;
    const { sendRequest } = await serve({
      routes: { "/a": { limits: shared }, "/b": { limits: shared } },
    });
    const remaining = async (path: string) =>
      (await sendRequest(path)).headers["x-ratelimit-remaining"];
    redis.lose();
    expect(await remaining("/a")).toBe("9");
    expect(await remaining("/b")).toBe("8");
    expect(await remaining("/a")).toBe("7");
  });

  test("applications on one client share local counts, and those on another client do not", async () => {
    const store = await redis.openStore();
    const elsewhere = await redis.openStore();
    const [first, second, third] = await Promise.all(
      [store, store, elsewhere].map((on) =>
        serve({ limits: { name: "api", limits, store: on, key } }),
      ),
    );
    const remaining = async (site = first) =>
      (await site?.sendRequest())?.headers["x-ratelimit-remaining"];
    redis.lose();
    expect(await remaining(first)).toBe("9");
    expect(await remaining(second)).toBe("8");
    expect(await remaining(third)).toBe("9");
  });

  test("local counts are separate for each user and each name", async () => {
    const store = await redis.openStore();
    const byUser = ({ headers }: { headers: object }) =>
      JSON.stringify(headers).match(/user-\d/)?.[0];
    const { sendRequest } = await serve({
      routes: {
        "/a": { limits: { name: "a", limits, store, key: byUser } },
        "/b": { limits: { name: "b", limits, store, key: byUser } },
      },
    });
    redis.lose();
    for (const path of ["/a", "/b"]) {
      for (const user of ["user-1", "user-2"]) {
        const { headers } = await sendRequest(path, { headers: { "x-user": user } });
        expect(headers["x-ratelimit-remaining"]).toBe("9");
      }
    }
  });
});
