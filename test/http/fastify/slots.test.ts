import { once } from "node:events";
import type { ClientHttp2Session } from "node:http2";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createLimiter, memoryStore } from "@headgate/core";
import headgate, { concurrency } from "@headgate/fastify";
import type { FastifyReply, FastifyRequest } from "fastify";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { deferred } from "../support/deferred.ts";
import { manualClock } from "../support/manual-clock.ts";
import { start } from "./start-fastify.ts";

/** A limiter of one place for everybody, on a clock that stands still. */
function onePlace() {
  const clock = manualClock();
  const limiter = createLimiter({
    name: "places",
    store: memoryStore({ clock: clock.now }),
    limits: concurrency({ limit: 1, ttl: "1m", per: "global" }),
  });
  return {
    clock,
    limiter,
    remaining: async () => (await limiter.peek("*", { cost: 0 })).remaining,
  };
}

test("a slot is released however the reply is sent", async () => {
  const { limiter, remaining } = onePlace();
  const app = Fastify();
  app.register(headgate, { limiter });
  app.get("/returned", async () => "done");
  app.get("/sent", (_, reply) => {
    reply.send("done");
  });
  app.get("/stream", async () => Readable.from(["do", "ne"]));
  app.get("/redirect", (_, reply) => reply.redirect("/returned"));
  app.get("/hijacked", (_, reply) => {
    reply.hijack();
    reply.raw.end("done");
  });
  const sendRequest = await start(app);
  for (const path of ["/returned", "/sent", "/stream", "/redirect", "/hijacked", "/none"]) {
    const { status } = await sendRequest(path);
    expect([200, 302, 404], path).toContain(status);
    expect(await remaining(), path).toBe(1);
  }
});

test("a route and a hook have separate slots", async () => {
  const { limiter, remaining } = onePlace();
  const app = Fastify();
  await app.register(headgate, { name: "plugin" });
  const hook = app.rateLimit({ limiter });
  const seen: number[] = [];
  app.get("/export", { preHandler: hook }, async (request) => {
    seen.push(await remaining());
    return hook.decisionOf(request)?.release();
  });
  const sendRequest = await start(app);
  expect(await sendRequest("/export")).toMatchObject({ status: 200, text: "true" });
  expect(seen).toEqual([0]);
  expect(await remaining()).toBe(1);
});

/** An application that speaks HTTP/2 without TLS, and a client of it. */
async function serving(
  handle: (request: FastifyRequest, reply: FastifyReply) => unknown,
): Promise<ReturnType<typeof onePlace> & { client: ClientHttp2Session }> {
  const place = onePlace();
  const app = Fastify({ http2: true });
  app.register(headgate, { limiter: place.limiter });
  app.get("/", handle as never);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const client = connect(`http://127.0.0.1:${port}`);
  onTestFinished(async () => {
    client.destroy();
    await app.close();
  });
  return { ...place, client };
}

test.each<[string, (request: FastifyRequest, reply: FastifyReply) => unknown]>([
  ["returned", async () => "done"],
  ["streamed", async () => Readable.from(["do", "ne"])],
  [
    "sent by the stream itself",
    (_, reply) => {
      reply.hijack();
      const { stream } = reply.raw as unknown as {
        stream: { respond(): void; end(b: string): void };
      };
      stream.respond();
      stream.end("done");
    },
  ],
])("over HTTP/2 a slot is released when the response is %s", async (_, handle) => {
  const { client, remaining } = await serving(handle);
  for (let i = 0; i < 3; i += 1) {
    const stream = client.request({ ":path": "/" });
    const closed = once(stream, "close");
    expect(await text(stream)).toBe("done");
    await closed;
    await expect.poll(remaining).toBe(1);
  }
});

test("over HTTP/2 a reset stream does not release a slot at once", async () => {
  const entered = deferred<[FastifyRequest, FastifyReply]>();
  const { client, clock, remaining } = await serving((request, reply) => {
    reply.hijack();
    entered.resolve([request, reply]);
  });
  const stream = client.request({ ":path": "/" });
  stream.on("error", () => {});
  const [request, reply] = await entered.promise;
  const closed = once(reply.raw, "close");
  stream.close(8);
  await closed;
  expect(request.rateLimit?.signal?.aborted).toBe(true);
  expect(await remaining()).toBe(0);
  clock.advance(60_000);
  expect(await remaining()).toBe(1);
});
