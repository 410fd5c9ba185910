import { Readable } from "node:stream";
import headgate, { gcra } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

const limits = gcra({ limit: 1, window: "1h" });

test("a stream has the headers, and is denied like any other response", async () => {
  const app = Fastify();
  app.register(headgate, { limits });
  app.get("/", async (_request, reply) => reply.send(Readable.from(["a", "b"])));
  const sendRequest = await start(app);
  const streamed = await sendRequest();
  expect(streamed).toMatchObject({ status: 200, text: "ab" });
  expect(streamed.headers["x-ratelimit-remaining"]).toBe("0");
  expect((await sendRequest()).status).toBe(429);
});

test("a handler that hijacks the reply is called only for allowed requests", async () => {
  const app = Fastify();
  app.register(headgate, { limits });
  app.get("/", (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>);
    reply.raw.end("by hand");
  });
  const sendRequest = await start(app);
  const first = await sendRequest();
  expect(first.text).toBe("by hand");
  expect(first.headers["x-ratelimit-remaining"]).toBe("0");
  expect((await sendRequest()).status).toBe(429);
});

test("a request that a hook hijacked before the limiter is not counted", async () => {
  const app = Fastify();
  app.addHook("onRequest", async ({ url }, reply) => {
    if (url !== "/taken") return;
    reply.hijack();
    reply.raw.end("by hand");
  });
  app.register(headgate, { limits });
  app.get("/", async () => "ok");
  app.get("/taken", async () => "never");
  const sendRequest = await start(app);
  for (let i = 0; i < 3; i++) expect((await sendRequest("/taken")).text).toBe("by hand");
  expect((await sendRequest()).status).toBe(200);
});
