import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { PassThrough, pipeline } from "node:stream";
import { concurrency } from "@headgate/core";
import { expect, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import { deferred } from "../support/deferred.ts";
import { createHttpClient } from "../support/send-request.ts";
import type { HandledRequest } from "./sites.ts";
import { describeSites } from "./sites.ts";

const two = concurrency({ limit: 2, ttl: "1m" });

/** Handlers that go on until they are told to answer, whatever becomes of their clients. */
function slowWork() {
  const running: HandledRequest[] = [];
  return { running, handle: (handled: HandledRequest) => running.push(handled) };
}

async function send(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return socket;
}

/** Resolves when the server has seen that a client left. */
function seenLeaving({ response }: HandledRequest): Promise<unknown> {
  return once(response, "close");
}

async function status(port: number): Promise<number> {
  const { sendRequest, end } = createHttpClient({ port });
  const response = await sendRequest("/");
  await end();
  return response.status;
}

describeSites((serve) => {
  test("a client that disconnects again and again never runs more handlers than the limit", async () => {
    const { running, handle } = slowWork();
    const { port, clock, remaining } = await serve({ limits: two, handle });
    for (let i = 0; i < 50; i += 1) {
      const handled = running.length;
      const socket = await send(port);
      // It is handled, or denied.
      await Promise.race([
        once(socket, "data"),
        waitUntil("it is handled", 10_000, () => running.length > handled || undefined),
      ]);
      const left =
        running.length > handled ? seenLeaving(running.at(-1) as HandledRequest) : undefined;
      socket.destroy();
      await left;
    }
    expect(running).toHaveLength(2);
    expect(await remaining()).toBe(0);
    expect(running.map(({ own }) => own?.decision.signal?.aborted)).toEqual([true, true]);
    expect(running[0]?.own?.decision.signal?.reason).toMatchObject({
      code: "HEADGATE_CLIENT_DISCONNECTED",
    });
    // They lapse, since nobody renews them.
    clock.advance(59_999);
    expect(await remaining()).toBe(0);
    clock.advance(1);
    expect(await remaining()).toBe(2);
  });

  test("a slot is released as soon as the work of a disconnected client ends", async () => {
    const { running, handle } = slowWork();
    const { port, remaining } = await serve({ limits: two, handle });
    const socket = await send(port);
    const [handled] = await waitUntil("it is handled", 10_000, () =>
      running.length > 0 ? running : undefined,
    );
    const left = seenLeaving(handled as HandledRequest);
    socket.destroy();
    await left;
    expect(await remaining()).toBe(1);
    handled?.response.end("too late");
    expect(await remaining()).toBe(2);
  });

  test.each(["pipe", "pipeline"])(
    "a response aborted in the middle of a stream (%s) holds its slot until the slot expires",
    async (way) => {
      const source = new PassThrough();
      const handled = deferred<HandledRequest>();
      const { port, clock, remaining } = await serve({
        limits: two,
        handle(one) {
          handled.resolve(one);
          if (way === "pipe") source.pipe(one.response);
          else pipeline(source, one.response, () => {});
        },
      });
      const socket = await send(port);
      source.write("the first part");
      await once(socket, "data");
      const left = seenLeaving(await handled.promise);
      socket.destroy();
      await left;
      source.write("more");
      expect(await remaining()).toBe(1);
      clock.advance(60_000);
      expect(await remaining()).toBe(2);
    },
  );

  test("a client that disconnects before the decision frees no slot", async () => {
    const entered = deferred<HandledRequest["request"]>();
    const goOn = deferred();
    const { running, handle } = slowWork();
    const { port, clock, remaining } = await serve({
      limits: two,
      handle,
      options: {
        key: async (request: { raw?: HandledRequest["request"] } & HandledRequest["request"]) => {
          entered.resolve(request.raw ?? request);
          await goOn.promise;
          return "all-clients";
        },
      },
    });
    const socket = await send(port);
    const closed = once((await entered.promise).socket, "close");
    socket.destroy();
    await closed;
    goOn.resolve();
    await waitUntil("it has a place", 10_000, async () => (await remaining()) === 1 || undefined);
    clock.advance(60_000);
    expect(await remaining()).toBe(2);
    for (const { own } of running) expect(own?.decision.signal?.aborted).toBe(true);
  });

  test("a request answered before the decision holds no slot", async () => {
    const entered = deferred<HandledRequest["request"]>();
    const goOn = deferred();
    const { handle, running } = slowWork();
    const { port, limiter, remaining } = await serve({
      limits: two,
      handle,
      options: {
        key: async (request: { raw?: HandledRequest["request"] } & HandledRequest["request"]) => {
          entered.resolve(request.raw ?? request);
          await goOn.promise;
          return "all-clients";
        },
      },
    });
    const asked = status(port);
    const request = await entered.promise;
    // As a timeout of the application's would.
    const { _httpMessage: response } = request.socket as unknown as {
      _httpMessage: HandledRequest["response"];
    };
    response.end("timed out");
    expect(await asked).toBe(200);
    goOn.resolve();
    await waitUntil("it was decided", 10_000, async () => {
      await limiter.peek("all-clients");
      return (await remaining()) === 2 || undefined;
    });
    expect(running).toEqual([]);
  });
});
