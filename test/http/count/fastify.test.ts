import { once } from "node:events";
import { ServerResponse } from "node:http";
import type { ClientHttp2Session, ServerHttp2Stream } from "node:http2";
import { connect as connect2 } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { createLimiter, fixedWindow } from "@headgate/core";
import headgate from "@headgate/fastify";
import type { FastifyReply, FastifyRequest } from "fastify";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "../fastify/start-fastify.ts";
import { deferred } from "../support/deferred.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { countUsage } from "./stores.ts";

const limits = fixedWindow({ limit: 100, window: "1h" });

test("a count function gets Fastify's request and reply", async () => {
  const app = Fastify();
  const seen: unknown[] = [];
  const count = (request: FastifyRequest, reply: FastifyReply) => {
    const { statusCode } = reply;
    seen.push([request.routeOptions.url, statusCode, reply.request === request]);
    return false;
  };
  await app.register(headgate, { limits, count });
  app.get("/:id", async (_request, reply) => reply.code(202).send({}));
  await (await start(app))("/7");
  expect(seen).toEqual([["/:id", 202, true]]);
});

test("responses of error handlers, of Fastify itself and of streams count by their status", async () => {
  const app = Fastify({ bodyLimit: 10 });
  const limiter = createLimiter({ limits });
  await app.register(headgate, { limiter, count: "failed" });
  app.setErrorHandler<Error & { statusCode?: number }>(async (error, _request, reply) => {
    await new Promise(setImmediate);
    if (error.message === "a small one") return reply.code(200).send("mended");
    return reply.code(error.statusCode ?? 500).send("broken");
  });
  app.setNotFoundHandler((_request, reply) => reply.code(410).send("gone"));
  app.get("/mended", async () => {
    throw new Error("a small one");
  });
  app.get("/broken", async () => {
    throw new Error("a bug");
  });
  app.get("/checked", { schema: { querystring: { required: ["q"] } } }, async () => "ok");
  app.get("/unchanged", async (_request, reply) => reply.code(304).send());
  app.get("/stream", async (_request, reply) => reply.send(Readable.from(["a", "b"])));
  app.get("/fails", async (_request, reply) => {
    const stream = new PassThrough();
    stream.write("a");
    setImmediate(() => stream.destroy(new Error("lost")));
    return reply.send(stream);
  });
  const sendRequest = await start(app);
  const { used } = countUsage(limiter);
  for (const [path, status, cost] of [
    ["/mended", 200, 0],
    ["/broken", 500, 1],
    ["/nowhere", 410, 1],
    ["/checked", 400, 1],
    ["/checked?q=1", 200, 0],
    ["/unchanged", 304, 0],
    ["/stream", 200, 0],
    ["/fails", "cut off", 1],
  ] as const) {
    const before = await used();
    const answered = await sendRequest(path).then(
      (response) => response.status,
      () => "cut off",
    );
    expect([path, answered, (await used()) - before]).toEqual([path, status, cost]);
  }
});

test("a body that is too large or invalid counts as failed", async () => {
  const app = Fastify({ bodyLimit: 10 });
  const limiter = createLimiter({ limits });
  await app.register(headgate, { limiter, count: "failed" });
  app.post("/", async () => "ok");
  await start(app);
  const url = `http://127.0.0.1:${(app.addresses()[0] as AddressInfo).port}/`;
  const headers = { "content-type": "application/json" };
  const statuses: number[] = [];
  for (const body of ['"longer than ten"', "{", "{}"]) {
    statuses.push((await fetch(url, { method: "POST", headers, body })).status);
  }
  expect(statuses).toEqual([413, 400, 200]);
  expect(await countUsage(limiter).used()).toBe(2);
});

test("a route inherits count, and may override it", async () => {
  const app = Fastify();
  await app.register(headgate, { name: "api", limits, count: "failed" });
  const own = fixedWindow({ limit: 50, window: "1h", name: "own" });
  const routes = {
    "/plugins": {},
    "/all": { count: "all" },
    "/succeeded": { count: "succeeded" },
    "/own": { limits: own },
    "/joint": { limits: own, extend: true },
    "/function": { limits: own, count: () => 7 },
  } as const;
  const used: number[] = [];
  for (const [url, rateLimit] of Object.entries(routes)) {
    app.get(url, { config: { rateLimit } }, async ({ rateLimit: decision }) => {
      expect(decision?.allowed).toBe(true);
      return "ok";
    });
  }
  const ofs = new Map<string, ReturnType<typeof app.headgate.decisionOf>>();
  app.addHook("preHandler", async (request) => {
    ofs.set(request.url, app.headgate.decisionOf(request));
  });
  const sendRequest = await start(app);
  for (const url of Object.keys(routes)) {
    await sendRequest(url);
    const { limiter, subject } = ofs.get(url) as NonNullable<
      ReturnType<typeof app.headgate.decisionOf>
    >;
    const { limits: looked } = await limiter.peek(subject, { cost: 0 });
    used.push(Math.max(...looked.map(({ limit, remaining }) => limit - remaining)));
    for (const forget of [limiter, app.headgate.limiter]) await forget.reset(subject);
  }
  expect(used).toEqual([0, 1, 1, 0, 0, 7]);
});

test("a hook's count settles its own calls, also of the plugin's limiter", async () => {
  const app = Fastify();
  await app.register(headgate, { name: "api", limits });
  const exports = app.rateLimit({ name: "exports", limits, count: "failed" });
  app.get("/export", { preHandler: exports }, async () => "ok");
  app.get("/login", { preHandler: app.rateLimit({ count: "failed" }) }, async () => "ok");
  const seen: unknown[] = [];
  app.addHook("onSend", async (request) => {
    seen.push(exports.decisionOf(request)?.limiter);
  });
  const sendRequest = await start(app);
  const { used } = countUsage(app.headgate.limiter);
  await sendRequest("/export");
  expect(await used()).toBe(1);
  expect(await countUsage(seen[0] as never).used()).toBe(0);
  await sendRequest("/login");
  expect(await used()).toBe(1);
});

test("an injected request counts like one over the network", async () => {
  const app = Fastify();
  const limiter = createLimiter({ limits });
  await app.register(headgate, { limiter, count: "failed" });
  app.get("/", async () => "ok");
  const { used } = countUsage(limiter);
  await app.inject("/");
  expect(await used()).toBe(0);
  await app.inject("/nowhere");
  expect(await used()).toBe(1);
});

test("an upgraded connection stays charged, and a refused upgrade counts by its status", async () => {
  const expectNothingUnhandled = watchUnhandled();
  const app = Fastify();
  const limiter = createLimiter({ limits });
  await app.register(headgate, { limiter, count: "failed" });
  const sockets: Socket[] = [];
  app.get("/socket", (_request, reply) => {
    reply.hijack();
    sockets.at(-1)?.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n");
  });
  // As @fastify/websocket does.
  app.server.on("upgrade", (request, socket: Socket) => {
    sockets.push(socket.resume().on("end", () => socket.destroy()));
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    app.routing(request, response);
  });
  await start(app);
  const { used } = countUsage(limiter);
  const upgrade = async (path: string) => {
    const socket = connect((app.addresses()[0] as AddressInfo).port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    const [bytes] = await once(socket, "data");
    const isOver = once(sockets.at(-1) as Socket, "close");
    socket.destroy();
    await isOver;
    return String(bytes).slice(9, 12);
  };
  expect(await upgrade("/socket")).toBe("101");
  expect(await used()).toBe(1);
  expect(await upgrade("/nowhere")).toBe("404");
  expect(await used()).toBe(2);
  await expectNothingUnhandled();
});

describe("count over HTTP/2", () => {
  type Handler = (
    request: FastifyRequest,
    reply: FastifyReply,
    stream: ServerHttp2Stream,
  ) => unknown;

  async function serving(handler: Handler) {
    const app = Fastify({ http2: true });
    const limiter = createLimiter({ limits });
    app.register(headgate, { limiter, count: "failed" });
    const entered = deferred();
    const closed = deferred();
    app.get("/", (request, reply) => {
      reply.raw.once("close", () => closed.resolve());
      entered.resolve();
      return handler(
        request as unknown as FastifyRequest,
        reply as unknown as FastifyReply,
        reply.raw.stream,
      );
    });
    await app.listen({ host: "127.0.0.1", port: 0 });
    const client = connect2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
    client.on("error", () => {});
    onTestFinished(async () => {
      client.destroy();
      await app.close();
    });
    return { client, entered: entered.promise, closed: closed.promise, ...countUsage(limiter) };
  }

  function request(client: ClientHttp2Session, method = "GET") {
    const stream = client.request({ ":path": "/", ":method": method });
    stream.on("error", () => {}).resume();
    return stream;
  }

  test.each<[string, number, Handler]>([
    ["sent", 0, async () => "ok"],
    ["failed", 1, async (_request, reply) => reply.code(401).send("no")],
    ["of a stream", 0, async (_request, reply) => reply.send(Readable.from(["a", "b"]))],
    ["unchanged", 0, async (_request, reply) => reply.code(304).send()],
    [
      "written to the response",
      1,
      (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(403);
        reply.raw.end();
      },
    ],
    [
      "written to the stream",
      1,
      (_request, reply, stream) => {
        reply.hijack();
        stream.additionalHeaders({ ":status": 103 });
        stream.respond({ ":status": 401 });
        stream.end("no");
      },
    ],
    [
      "broken off",
      1,
      (_request, reply, stream) => {
        reply.hijack();
        stream.respond({ ":status": 200 });
        stream.write("part", () => stream.close(2));
      },
    ],
  ])("over HTTP/2 a response that is %s leaves a charge of %d", async (_, cost, handler) => {
    const { client, closed, used } = await serving(handler);
    request(client);
    await closed;
    expect(await used()).toBe(cost);
  });

  test.each([
    [200, 0],
    [401, 1],
  ])(
    "over HTTP/2 a response to HEAD with status %d leaves a charge of %d",
    async (status, cost) => {
      const { client, closed, used } = await serving(async (_request, reply) =>
        reply.code(status).send("ok"),
      );
      request(client, "HEAD");
      await closed;
      expect(await used()).toBe(cost);
    },
  );

  test.each<[string, Handler]>([
    ["before it is answered", () => new Promise(() => {})],
    [
      "in the middle",
      (_request, reply, stream) => {
        reply.hijack();
        stream.respond({ ":status": 200 });
        stream.write("part");
      },
    ],
    ["with more to come than its window holds", async () => Buffer.alloc(1 << 24)],
  ])("over HTTP/2 a request whose client disconnects %s stays charged", async (_, handler) => {
    for (const leave of [
      (client: ClientHttp2Session) => client.destroy(),
      (_client: ClientHttp2Session, stream: ReturnType<typeof request>) => stream.close(8),
    ]) {
      const { client, entered, closed, used } = await serving(handler);
      const stream = request(client);
      stream.pause();
      await entered;
      leave(client, stream);
      await closed;
      expect(await used()).toBe(1);
    }
  });
});
