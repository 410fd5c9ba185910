import { Readable } from "node:stream";
import type { OnDenied } from "@headgate/fastify";
import headgate, { gcra } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import type { Answer } from "../support/ask.ts";
import { secondsLeft } from "../support/seconds-left.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { start } from "./start.ts";

const limits = gcra({ limit: 1, window: "1h" });

/** Denies a request with `onDenied`, beside an onSend hook that takes its time; fails on anything that is logged. */
async function deny(onDenied: OnDenied): Promise<Answer> {
  const settled = watchUnhandled();
  const logged: string[] = [];
  const stream = { write: (line: string) => logged.push(JSON.parse(line).msg) };
  const app = Fastify({ logger: { level: "warn", stream } });
  let sent = 0;
  app.addHook("onSend", async (_request, { statusCode }, payload) => {
    if (statusCode !== 200) sent += 1;
    await new Promise(setImmediate);
    return payload;
  });
  app.register(headgate, { limits, onDenied });
  app.get("/", async () => "ok");
  const ask = await start(app);
  await ask();
  const denied = await ask();
  await settled();
  expect(logged).toEqual([]);
  expect(sent).toBeLessThan(2);
  return denied;
}

const SENDERS: Record<string, OnDenied> = {
  sends: (_request, reply) => {
    reply.code(503).send("mine");
  },
  "returns what send returns": (_request, reply) => reply.code(503).send("mine"),
  "sends, async": async (_request, reply) => {
    reply.code(503).send("mine");
  },
  "sends and returns the reply, async": async (_request, reply) => {
    reply.code(503).send("mine");
    return reply;
  },
  "sends after a while": async (_request, reply) => {
    await new Promise(setImmediate);
    reply.code(503).send("mine");
  },
  "sends a stream": (_request, reply) => {
    reply.code(503).send(Readable.from(["mi", "ne"]));
  },
  "sends an object": (_request, reply) => {
    reply
      .code(503)
      .serializer(String)
      .send({ toString: () => "mine" });
  },
};

test.each(Object.entries(SENDERS))(
  "one that %s has answered: nothing is sent after it",
  async (_, onDenied) => {
    expect(await deny(onDenied)).toMatchObject({
      status: 503,
      text: "mine",
      headers: { "retry-after": secondsLeft(3_600), "cache-control": "no-store" },
    });
  },
);

test("one that takes the response over by hand has answered", async () => {
  const denied = await deny((_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(503);
    reply.raw.end("by hand");
  });
  expect(denied).toMatchObject({ status: 503, text: "by hand" });
});

test("one that takes it over and ends it later has answered", async () => {
  const denied = await deny((_request, reply) => {
    reply.hijack();
    setImmediate(() => reply.raw.end("by hand"));
  });
  expect(denied.text).toBe("by hand");
});

test("one that redirects has answered", async () => {
  const denied = await deny((_request, reply) => reply.redirect("/slow-down", 303));
  expect([denied.status, denied.headers["location"]]).toEqual([303, "/slow-down"]);
});

test("one that throws after it answered does no harm", async () => {
  const settled = watchUnhandled();
  const app = Fastify();
  app.register(headgate, {
    limits,
    onDenied(_request, reply) {
      reply.send("mine");
      throw new Error("too late");
    },
  });
  app.get("/", async () => "ok");
  const ask = await start(app);
  await ask();
  expect(await ask()).toMatchObject({ status: 429, text: "mine" });
  await settled();
});
