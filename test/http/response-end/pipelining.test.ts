import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { concurrency, createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { manualClock } from "../support/manual-clock.ts";
import type { Handled } from "./frameworks.ts";
import { describeProtocol } from "./frameworks.ts";

/*
 * Pipelined requests are handled at once, and answered one after the other. Behind a slow answer theirs have no connection to be sent
 * on, and Node says nothing of them when that closes.
 */

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`;

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => {
    socket.destroy();
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** What a client does behind which answers wait. */
const WAYS: readonly (readonly [string, (socket: Socket) => unknown])[] = [
  ["resets its connection", (socket) => socket.resetAndDestroy()],
  ["closes it", (socket) => socket.destroy()],
  ["closes its half of it, and reads nothing", (socket) => socket.pause().end()],
];

describeProtocol("HTTP/1.1", (serve) => {
  test.each([
    ...WAYS,
    ["stays, and lets its answers wait", () => {}] as const,
    ["resets it after 30 ms", (socket: Socket) => delay(30).then(() => socket.resetAndDestroy())],
  ] as const)(
    "failed logins pipelined behind a slow response set a block if their client %s",
    async (_, leave) => {
      const clock = manualClock();
      const limiter = createLimiter({
        name: "guesses",
        limits: fixedWindow({ limit: 10, window: "2s", block: "1h" }),
        blockOn: "settle",
        store: memoryStore({ clock: clock.now }),
      });
      let guesses = 0;
      const port = await serve({
        limiter,
        count: "failed",
        handle({ own, response }) {
          if (own === undefined) return;
          guesses += 1;
          response.writeHead(401).end("wrong");
        },
      });
      for (let window = 0; window < 4; window += 1) {
        const socket = await open(port);
        socket.write(get("/free/slow") + get("/limited/guess").repeat(10));
        if (window === 0) await eventually(() => expect(guesses).toBe(10));
        await leave(socket);
        await eventually(async () => expect((await limiter.peek("everybody")).blocked).toBe(true));
        clock.advance(2_000);
      }
      expect(guesses).toBe(10);
    },
  );

  test.each(WAYS)("slots of pipelined requests expire if their client %s", async (_, leave) => {
    const clock = manualClock();
    const limiter = createLimiter({
      name: "exports",
      limits: concurrency({ limit: 8, ttl: "1m" }),
      store: memoryStore({ clock: clock.now }),
    });
    const remaining = async () => (await limiter.peek("everybody", { cost: 0 })).remaining;
    const running: Handled[] = [];
    const port = await serve({
      limiter,
      handle: (handled) => handled.own && running.push(handled),
    });
    const socket = await open(port);
    socket.write(get("/free/slow") + get("/limited/export").repeat(9));
    await eventually(() => expect(running).toHaveLength(8));
    const signals = running.map(({ own }) => own?.decision.signal as AbortSignal);
    expect(await remaining()).toBe(0);
    await leave(socket);
    await eventually(() => expect(signals.every(({ aborted }) => aborted)).toBe(true));
    expect(signals[7]?.reason).toMatchObject({ code: "HEADGATE_CLIENT_DISCONNECTED" });
    // Hanging up frees no slot; ending the response does.
    expect(await remaining()).toBe(0);
    running[3]?.response.end();
    expect(await remaining()).toBe(1);
    clock.advance(60_000);
    expect(await remaining()).toBe(8);
  });

  test("a pipelined response that waits for its turn has released its slot, and is settled once it is sent", async () => {
    const limits = [
      concurrency({ limit: 8, ttl: "1m" }),
      fixedWindow({ limit: 10, window: "1h", name: "hourly" }),
    ];
    const limiter = createLimiter({
      name: "both",
      limits,
      store: memoryStore({ clock: manualClock().now }),
    });
    const left = async () =>
      (await limiter.peek("everybody", { cost: 0 })).limits.map(({ remaining }) => remaining);
    let slow: Handled | undefined;
    let answered = 0;
    const port = await serve({
      limiter,
      count: "failed",
      handle(handled) {
        if (handled.own === undefined) {
          slow = handled;
          return;
        }
        answered += 1;
        handled.response.end("fine");
      },
    });
    const socket = await open(port);
    socket.write(get("/free/slow") + get("/limited/fine").repeat(3));
    await eventually(() => expect(answered).toBe(3));
    await eventually(async () => expect(await left()).toEqual([8, 7]));
    slow?.response.end("at last");
    socket.resume();
    await eventually(async () => expect(await left()).toEqual([8, 10]));
  });

  test("a watched connection has one listener of ours for each event", async () => {
    const limiter = createLimiter({ limits: concurrency({ limit: 100, ttl: "1m" }) });
    const running: Handled[] = [];
    const port = await serve({ limiter, count: "all", handle: (handled) => running.push(handled) });
    const socket = await open(port);
    socket.resume().write(get("/free/first"));
    await eventually(() => expect(running).toHaveLength(1));
    const connection = running[0]?.request.socket as Socket;
    const listeners = () => [connection.listenerCount("close"), connection.listenerCount("end")];
    const before = listeners();
    socket.write(get("/limited/next").repeat(20));
    await eventually(() => expect(running).toHaveLength(21));
    expect(listeners()).toEqual(before.map((count) => count + 1));
    for (const { response } of running) response.end("done");
    const [close = 0, end] = before;
    // Node's own for the response whose turn it was is gone, too.
    await eventually(() => expect(listeners()).toEqual([close - 1, end]));
  });
});
