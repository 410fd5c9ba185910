import type { Limit, Limiter, LimiterOptions } from "@headgate/core";
import { createLimiter, fixedWindow, gcra } from "@headgate/core";
import type { LimitFetchOptions } from "@headgate/fetch";
import { limitFetch, limitInterceptor } from "@headgate/fetch";
import { Agent } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { startProvider } from "./provider.ts";

const PLENTY = gcra({ limit: 10_000, window: "1s" });

function start(limits: Limit | readonly Limit[], options: Partial<LimiterOptions> = {}): Limiter {
  const limiter = createLimiter({ name: "api", limits: limits as Limit, ...options });
  onTestFinished(() => limiter.close());
  return limiter as Limiter;
}

function watchUnhandled(): readonly unknown[] {
  const seen: unknown[] = [];
  const add = (error: unknown) => seen.push(error);
  process.on("unhandledRejection", add);
  onTestFinished(() => {
    process.off("unhandledRejection", add);
  });
  return seen;
}

/** Waits until rejections without a handler have been noticed. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("a path that looks like another host", () => {
  test.each(["//other/x", "http://other/x", "/\\other"])(
    "%s counts for the origin that it is sent to",
    async (path) => {
      const provider = await startProvider(() => ({}));
      const limiter = start(fixedWindow({ limit: 1, window: "1h" }));
      const hosts: string[] = [];
      const key = ({ url }: { url: URL }) => {
        hosts.push(url.host);
        return "me";
      };
      const agent = new Agent();
      onTestFinished(() => agent.destroy());
      const sent = { origin: provider.url, path, method: "OPTIONS" } as const;
      const { body } = await agent.compose(limitInterceptor({ limiter })).request(sent);
      await body.dump();
      expect((await limiter.peek(provider.url)).allowed).toBe(false);
      await (await agent.compose(limitInterceptor({ limiter, key })).request(sent)).body.dump();
      expect(hosts).toEqual([new URL(provider.url).host]);
    },
  );
});

describe("functions of the application", () => {
  test.each<[string, Partial<LimitFetchOptions>]>([
    [
      "a key that rejects beside a cost that throws",
      {
        key: async () => Promise.reject(new Error("key")),
        cost() {
          throw new Error("cost");
        },
      },
    ],
    [
      "a settle that throws what is no text",
      {
        settle() {
          throw Object.create(null);
        },
      },
    ],
  ])("leave no rejection without a handler: %s", async (_, options) => {
    const unhandled = watchUnhandled();
    const provider = await startProvider(() => ({}));
    const send = limitFetch({ limiter: start(PLENTY), ...options });
    await send(provider.url).catch(() => {});
    await nextTurn();
    expect(unhandled).toEqual([]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1.5, 2 ** 53])(
    "that return %d as a key do not make it the subject of all calls",
    async (number) => {
      const provider = await startProvider(() => ({}));
      const send = limitFetch({ limiter: start(PLENTY), key: () => number });
      await expect(send(provider.url)).rejects.toMatchObject({ code: "HEADGATE_INVALID_KEY" });
      expect(provider.arrivals).toEqual([]);
    },
  );
});
