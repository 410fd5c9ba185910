import { once } from "node:events";
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { connect } from "node:http2";
import type { Socket } from "node:net";
import { connect as connectSocket } from "node:net";
import { concurrency, createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { manualClock } from "../support/manual-clock.ts";
import type { Handled } from "./frameworks.ts";
import { describeProtocol } from "./frameworks.ts";

function open(port: number, socket: Socket = connectSocket(port, "127.0.0.1")): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { createConnection: () => socket });
  session.on("error", () => {});
  onTestFinished(() => {
    session.destroy();
  });
  return session;
}

function send(session: ClientHttp2Session, method: string, path: string): ClientHttp2Stream {
  const stream = session.request({ ":path": path, ":method": method });
  stream.on("error", () => {}).resume();
  return stream;
}

const NO_ERROR = 0;
const CANCEL = 8;

describeProtocol("HTTP/2", (serve) => {
  test.each<[string, string, (stream: ClientHttp2Stream, socket: Socket) => unknown]>([
    ["resets a GET", "GET", (stream) => stream.close(CANCEL)],
    ["resets a HEAD", "HEAD", (stream) => stream.close(CANCEL)],
    ["resets an upload", "POST", (stream) => stream.close(CANCEL)],
    // Node emits no `close` then: it waits until the request has been read.
    ["resets an upload without an error", "POST", (stream) => stream.close(NO_ERROR)],
    ["destroys its session", "GET", (stream) => stream.session?.destroy()],
    ["resets its connection", "GET", (_, socket) => socket.resetAndDestroy()],
  ])("a slot expires if its client %s", async (_, method, leave) => {
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
      handle(handled) {
        running.push(handled);
        // Some of an upload is read, and the rest is not.
        if (method === "POST") handled.request.once("data", () => handled.request.pause());
      },
    });
    const socket = connectSocket(port, "127.0.0.1");
    const stream = send(open(port, socket), method, "/limited/export");
    if (method === "POST") stream.write("part of it");
    await eventually(() => expect(running).toHaveLength(1));
    const signal = running[0]?.own?.decision.signal;
    leave(stream, socket);
    await eventually(() => expect(signal?.aborted).toBe(true));
    expect(await remaining()).toBe(7);
    clock.advance(60_000);
    expect(await remaining()).toBe(8);
  });

  test("failed logins whose clients keep their streams open set a block", async () => {
    const limiter = createLimiter({
      name: "guesses",
      limits: fixedWindow({ limit: 10, window: "2s", block: "1h" }),
      blockOn: "settle",
      store: memoryStore({ clock: manualClock().now }),
    });
    const port = await serve({
      limiter,
      count: "failed",
      async handle({ request, response }) {
        await once(request, "data");
        response.writeHead(401).end("wrong");
      },
    });
    const session = open(port);
    for (let i = 0; i < 10; i += 1) send(session, "POST", "/limited/guess").write("a guess");
    await eventually(async () => expect((await limiter.peek("everybody")).blocked).toBe(true));
  });
});
