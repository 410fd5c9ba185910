import type { IncomingMessage } from "node:http";
import { Agent, get } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import { concurrency, gcra, memoryStore } from "@headgate/core";
import type { CountingStore } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { expect, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { manualClock } from "../support/manual-clock.ts";
import { createHttpClient } from "../support/send-request.ts";
import type { HandledRequest } from "./sites.ts";
import { describeSites } from "./sites.ts";

const one = concurrency({ limit: 1, ttl: "1m" });

describeSites((serve) => {
  test.each<[string, (handled: HandledRequest) => unknown]>([
    ["end", ({ response }) => response.end("done")],
    ["a pipe", ({ response }) => Readable.from(["do", "ne"]).pipe(response)],
    [
      "writes and an end",
      async ({ response }) => {
        response.write("do");
        await turn();
        response.end("ne", () => {});
      },
    ],
  ])("a slot is released with %s", async (_, handle) => {
    const { port, remaining } = await serve({ limits: one, handle });
    const { sendRequest, end } = createHttpClient({ port });
    for (let i = 0; i < 3; i += 1) {
      expect(await sendRequest()).toMatchObject({ status: 200, text: "done" });
      expect(await remaining()).toBe(1);
    }
    await end();
  });

  test("while the slot is held the next request is denied, and holds none", async () => {
    const running: HandledRequest[] = [];
    const { port, remaining } = await serve({
      limits: one,
      handle: (handled) => running.push(handled),
    });
    const { sendRequest, end } = createHttpClient({ port });
    const first = sendRequest();
    await waitUntil("it is handled", 10_000, () => running[0]);
    const denied = await sendRequest();
    expect(denied).toMatchObject({
      status: 429,
      headers: {
        "x-ratelimit-limit": "1",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": "0",
        "ratelimit-policy": '"1-at-once";q=1',
        ratelimit: '"1-at-once";r=0',
        "retry-after": "1",
      },
    });
    running[0]?.response.end("done");
    expect((await first).text).toBe("done");
    expect(await remaining()).toBe(1);
    await end();
  });

  test("pipelined requests of one connection hold separate slots", async () => {
    const { port, remaining } = await serve({
      limits: one,
      handle: ({ response }) => response.end("done"),
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    for (let i = 0; i < 3; i += 1) {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        get({ port, host: "127.0.0.1", agent }, resolve).once("error", reject);
      });
      expect(answer.statusCode).toBe(200);
      await text(answer);
      sockets.add(answer.socket);
    }
    expect(sockets.size).toBe(1);
    expect(await remaining()).toBe(1);
    agent.destroy();
  });

  test("a slot can be released before the response, and is not released twice", async () => {
    const running: HandledRequest[] = [];
    const { port, limiter, remaining } = await serve({
      limits: one,
      handle: (handled) => running.push(handled),
    });
    const { sendRequest, end } = createHttpClient({ port });
    const asked = sendRequest();
    const handled = await waitUntil("it is handled", 10_000, () => running[0]);
    expect(await handled.own?.release()).toBe(true);
    expect(await handled.own?.release()).toBe(false);
    const other = await limiter.consume("all-clients");
    expect(other.allowed).toBe(true);
    handled.response.end("done");
    await asked;
    expect(await remaining()).toBe(0);
    await end();
  });

  test("a slot is renewed until the response", async () => {
    const clock = manualClock();
    const memory = requireStore(memoryStore({ clock: clock.now }));
    let renewals = 0;
    const store: CountingStore = {
      ...memory,
      runSync: undefined,
      run(operation, call) {
        if (operation.name === "slots") renewals += 1;
        return memory.run(operation, call);
      },
    };
    const running: HandledRequest[] = [];
    const { port, remaining } = await serve({
      limits: concurrency({ limit: 1, ttl: 30 }),
      handle: (handled) => running.push(handled),
      store,
    });
    const { sendRequest, end } = createHttpClient({ port });
    const asked = sendRequest();
    const handled = await waitUntil("it is handled", 10_000, () => running[0]);
    for (let i = 1; i <= 4; i += 1) {
      clock.advance(20);
      await waitUntil("it is renewed", 10_000, () => renewals >= i || undefined);
      expect(await remaining()).toBe(0);
    }
    expect(handled.own?.decision.signal?.aborted).toBe(false);
    handled.response.end("done");
    await asked;
    expect(await remaining()).toBe(1);
    await end();
  });
});

describeAdapters(({ serve }) => {
  const key = () => "all-clients";

  test("a slot is released whatever the handler does", async () => {
    const ways: Record<string, () => unknown> = {
      "/ok": () => ({ done: true }),
      "/throws": () => {
        throw new Error("a bug");
      },
      "/rejects": () => Promise.reject(new Error("a bug")),
    };
    const routes = Object.fromEntries(
      Object.entries(ways).map(([path, handle]) => [path, { handle }]),
    );
    const site = await serve({ limits: { limits: one, key }, routes });
    for (const path of [...Object.keys(ways), ...Object.keys(ways)]) {
      expect((await site.sendRequest(path)).status).toBe(path === "/ok" ? 200 : 500);
    }
  });

  test("a request that another limiter denies releases its slot", async () => {
    const site = await serve({
      limits: [
        { limits: one, key, name: "places", store: requireStore(memoryStore()) },
        { limits: gcra({ limit: 1, window: "1h" }), key },
      ],
    });
    const statuses = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await site.sendRequest()).headers["ratelimit"]);
    for (const ratelimit of statuses) expect(ratelimit).toContain('"1-at-once";r=0');
    expect((await site.sendRequest()).json()).toMatchObject({ "violated-policies": ["1-per-1h"] });
  });

  test("a denied request that onDenied allows holds no slot", async () => {
    const seen: (AbortSignal | undefined)[] = [];
    const held: (() => void)[] = [];
    const site = await serve({
      limits: { limits: one, key, onDenied: () => "allow" },
      routes: {
        "/": {
          handle: (request) => {
            seen.push(request.rateLimit?.signal);
            return seen.length > 1 ? "at once" : new Promise<void>((resolve) => held.push(resolve));
          },
        },
      },
    });
    const first = site.sendRequest();
    await waitUntil("it is handled", 10_000, () => held[0]);
    expect((await site.sendRequest()).status).toBe(200);
    expect(seen.map((signal) => signal?.aborted)).toEqual([false, undefined]);
    // What was let on has given nothing back.
    const third = await site.sendRequest();
    expect(third.headers["x-ratelimit-remaining"]).toBe("0");
    held[0]?.();
    await first;
  });

  test("limits of perRequest share the slots", async () => {
    const held: (() => void)[] = [];
    const site = await serve({
      limits: {
        key,
        limits: {
          base: one,
          limitsOf: ({ headers }) =>
            concurrency({ limit: Number(headers["x-plan"] ?? 1), ttl: "1m" }),
        },
      },
      routes: { "/": { handle: () => new Promise<void>((resolve) => held.push(resolve)) } },
    });
    const asked = [site.sendRequest()];
    await waitUntil("it is handled", 10_000, () => held[0]);
    expect((await site.sendRequest()).status).toBe(429);
    asked.push(site.sendRequest("/", { headers: { "x-plan": "2" } }));
    await waitUntil("it is handled", 10_000, () => held[1]);
    expect((await site.sendRequest("/", { headers: { "x-plan": "2" } })).status).toBe(429);
    for (const end of held) end();
    await Promise.all(asked);
  });

  test("perRequest may add concurrency limits that the base does not have", async () => {
    const held: (() => void)[] = [];
    const hourly = gcra({ limit: 9, window: "1h" });
    const site = await serve({
      limits: { key, limits: { base: hourly, limitsOf: () => [hourly, one] } },
      routes: { "/": { handle: () => new Promise<void>((resolve) => held.push(resolve)) } },
    });
    const first = site.sendRequest();
    await waitUntil("it is handled", 10_000, () => held[0]);
    expect((await site.sendRequest()).status).toBe(429);
    held[0]?.();
    await first;
    const second = site.sendRequest();
    await waitUntil("it is handled", 10_000, () => held[1]);
    held[1]?.();
    expect((await second).headers["ratelimit-policy"]).toBe(
      '"9-per-1h";q=9;w=3600, "1-at-once";q=1',
    );
  });

  test("options of other libraries for concurrency are rejected with Headgate's equivalent", async () => {
    await expect(
      serve({ limits: { maxConcurrent: 2, limits: one } as never }),
    ).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringContaining("concurrency({ limit, ttl })"),
    });
  });
});
