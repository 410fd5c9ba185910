import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, memoryStore, slidingLog } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { holdStore, started } from "../../support/held-store.ts";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { eventually } from "../support/eventually.ts";
import type { AnyRequest } from "../support/framework.ts";
import { manualClock } from "../support/manual-clock.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import {
  clientNameOf,
  openRequest,
  sendAndWait,
  statusOf,
  useStores,
  watchQueue,
} from "./waiting-clients.ts";

const places = useStores();
const hourly = slidingLog({ limit: 1, window: "1h", name: "hourly" });

/** Node's own request. */
function rawOf(request: AnyRequest): IncomingMessage {
  return "raw" in request ? request.raw : request;
}

/** Whether somebody waits: then so many calls, as many as may wait at once, do not all find a place. */
async function isAnybodyWaiting(limiter: Limiter, maxQueue: number): Promise<boolean> {
  const waits = Array.from({ length: maxQueue }, () =>
    limiter.wait("127.0.0.1", { timeout: 1 }).catch((error) => error.code),
  );
  return (await Promise.all(waits)).includes("HEADGATE_QUEUE_FULL");
}

describeAdapters(({ serve }) => {
  describe.each(places)("with counts in $name", ({ createLimiter: make }) => {
    test("a client that disconnects while it waits costs nothing, delays nobody, and reaches no handler", async () => {
      const line = watchQueue();
      const settled = watchUnhandled();
      const limiter = make({
        limits: slidingLog({ limit: 4, window: "1h" }),
      });
      const { port, sendRequest, handled, errors } = await serve({
        limits: { limiter, wait: "10s", cost: (request) => Number(clientNameOf(request)) },
      });
      await sendRequest("/?2");
      // Only all four would do for the first in line; two are left for the second.
      const first = await openRequest(port, "/?4");
      await line.joined(1);
      const second = await openRequest(port, "/?2");
      first.disconnect();
      expect(statusOf(await second.response)).toBe(200);
      expect(handled).toEqual(["/?2", "/?2"]);
      expect(errors).toEqual([]);
      await settled();
    });

    test("hundreds of sockets of one subject delay no other subject, and leave the queue at once", async () => {
      const clock = manualClock();
      const limiter = make({ limits: fixedWindow({ limit: 1, window: "100ms" }) }, clock.now);
      const limited = { limiter, key: clientNameOf };
      const { port, sendRequest } = await serve({
        routes: {
          "/": { limits: { ...limited, wait: "10m" } },
          "/briefly": { limits: { ...limited, wait: 1 } },
        },
      });
      const answers: string[] = [];
      const visits = await Promise.all(
        Array.from({ length: 300 }, () => openRequest(port, "/?abuser")),
      );
      for (const { response } of visits) void response.then((text) => answers.push(text));
      await eventually(() => expect(answers.length).toBeGreaterThanOrEqual(199));
      expect(answers.filter((text) => statusOf(text) === 429).length).toBeGreaterThanOrEqual(150);
      // Somebody else passes at once.
      const other = await sendRequest("/?other");
      expect(other.status).toBe(200);
      expect(other.headers).not.toHaveProperty("server-timing");
      // And waits for nothing but its own turn.
      const again = await sendAndWait(() => sendRequest("/?other"), clock, 100);
      expect(again.status).toBe(200);
      expect(again.headers).toHaveProperty("server-timing");
      for (const { disconnect } of visits) disconnect();
      await eventually(async () => {
        expect((await sendRequest("/briefly?abuser")).headers).toHaveProperty("server-timing");
      });
    });

    test("pipelined requests of one connection all leave the queue with it", async () => {
      const line = watchQueue();
      const limiter = make({ limits: hourly, maxQueue: 24 });
      const requests: IncomingMessage[] = [];
      const { port, sendRequest } = await serve({
        before: (request) => void requests.push(rawOf(request)),
        routes: {
          "/": { limits: { limiter, wait: "10m" } },
          "/briefly": { limits: { limiter, wait: 100 } },
        },
      });
      await sendRequest();
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n".repeat(12));
      await line.joined(12);
      await eventually(async () => {
        expect((await sendRequest("/briefly")).headers).not.toHaveProperty("server-timing");
      });
      // Node warns of eleven.
      expect(requests[1]?.socket.listenerCount("close")).toBeLessThan(8);
      socket.destroy();
      // All the places are free.
      await eventually(async () => {
        const answers = await Promise.all(
          Array.from({ length: 12 }, () => sendRequest("/briefly")),
        );
        for (const { headers } of answers) expect(headers).toHaveProperty("server-timing");
      });
    });
  });

  test("a kept-alive connection has a listener only while a request waits on it", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const limits = fixedWindow({ limit: 1, window: "10ms" });
    const limiter = createLimiter({ name: "kept", limits, store });
    const seen: IncomingMessage[] = [];
    const { sendRequest } = await serve({
      before: (request) => void seen.push(rawOf(request)),
      limits: { limiter, wait: "10s" },
    });
    await sendRequest();
    const socket = seen[0]?.socket;
    const before = socket?.listenerCount("close");
    for (let i = 0; i < 20; i += 1) {
      const { status, headers } = await sendAndWait(sendRequest, clock, 10);
      expect(status).toBe(200);
      expect(headers).toHaveProperty("server-timing");
    }
    expect(seen.at(-1)?.socket).toBe(socket);
    expect(socket?.listenerCount("close")).toBe(before);
  });

  test("a request allowed at the moment its client disconnects is refunded", async () => {
    const { store, held, advance } = holdStore(() => 0);
    const limiter = createLimiter({
      name: "held",
      limits: hourly,
      store,
      storeTimeout: "1m",
      denyCache: false,
    });
    let request: IncomingMessage | undefined;
    const starting = serve({
      before: (one) => {
        request = rawOf(one);
      },
      limits: { limiter, wait: "1m" },
    });
    const { port, handled } = await started(held, starting);
    const next = async (name: string) =>
      eventually(() => {
        expect(held[0]?.name).toBe(name);
        return held.shift();
      });
    for (const isHeardOf of [true, false]) {
      const used = limiter.consume("127.0.0.1");
      await (await next("decide"))?.carryOut();
      expect((await used).allowed).toBe(true);
      const { response, disconnect } = await openRequest(port, "/");
      await (await next("decide"))?.carryOut();
      // In line, it is asked for again.
      const attempt = await next("decide");
      advance(3_600_000);
      await attempt?.execute();
      const socket = request?.socket;
      if (isHeardOf) {
        const closed = once(socket as NonNullable<typeof socket>, "close");
        disconnect();
        await closed;
        await attempt?.deliver();
      } else {
        const delivered = attempt?.deliver();
        socket?.destroy();
        await delivered;
      }
      await (await next("refund"))?.carryOut();
      expect(statusOf(await response)).toBe(0);
      const free = limiter.peek("127.0.0.1");
      await (await next("peek"))?.carryOut();
      expect((await free).allowed).toBe(true);
      advance(3_600_000);
    }
    expect(handled).toEqual([]);
  });

  test("a request that something else answers leaves the queue", async () => {
    const settled = watchUnhandled();
    const limiter = createLimiter({ limits: hourly, maxQueue: 2 });
    const { sendRequest, handled, errors } = await serve({
      before: (request, send) => {
        if (request.url === "/?late") void delay(100).then(() => send(503, "too late"));
      },
      limits: { limiter, wait: "10m" },
    });
    await sendRequest();
    const { status, text } = await sendRequest("/?late");
    expect([status, text]).toEqual([503, "too late"]);
    await eventually(async () => expect(await isAnybodyWaiting(limiter, 2)).toBe(false));
    expect(handled).toHaveLength(1);
    expect(errors).toEqual([]);
    await settled();
  });
});
