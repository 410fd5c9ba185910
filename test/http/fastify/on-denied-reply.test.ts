import { once } from "node:events";
import { createReadStream } from "node:fs";
import { connect } from "node:http2";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as after } from "node:timers/promises";
import fastifyStatic from "@fastify/static";
import fastifyView from "@fastify/view";
import { BODY_HEADERS } from "@headgate/core/internal-http";
import type { OnDenied } from "@headgate/fastify";
import headgate, { createLimiter, gcra } from "@headgate/fastify";
import ejs from "ejs";
import type { FastifyReply } from "fastify";
import Fastify from "fastify";
import { expect, onTestFinished, test, vi } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import { secondsLeft } from "../support/seconds-left.ts";
import type { TestResponse } from "../support/send-request.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { start } from "./start-fastify.ts";

const FILES = join(import.meta.dirname, "../ways-to-answer/files");

const limits = gcra({ limit: 1, window: "1h" });

/** Denies a request with `onDenied`, beside an onSend hook that takes its time; fails on anything that is logged. */
async function deny(onDenied: OnDenied): Promise<TestResponse> {
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
  const sendRequest = await start(app);
  await sendRequest();
  const denied = await sendRequest();
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
  "onDenied that %s has responded, and nothing is sent after it",
  async (_, onDenied) => {
    expect(await deny(onDenied)).toMatchObject({
      status: 503,
      text: "mine",
      headers: { "retry-after": secondsLeft(3_600), "cache-control": "no-store" },
    });
  },
);

test("onDenied that hijacks the reply has responded", async () => {
  const denied = await deny((_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(503);
    reply.raw.end("by hand");
  });
  expect(denied).toMatchObject({ status: 503, text: "by hand" });
});

test("onDenied that hijacks the reply and ends it later has responded", async () => {
  const denied = await deny((_request, reply) => {
    reply.hijack();
    setImmediate(() => reply.raw.end("by hand"));
  });
  expect(denied.text).toBe("by hand");
});

test("onDenied that redirects has responded", async () => {
  const denied = await deny((_request, reply) => reply.redirect("/slow-down", 303));
  expect([denied.status, denied.headers["location"]]).toEqual([303, "/slow-down"]);
});

test("onDenied that throws after it responded causes no error", async () => {
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
  const sendRequest = await start(app);
  await sendRequest();
  expect(await sendRequest()).toMatchObject({ status: 429, text: "mine" });
  await settled();
});

/** Denies a request, in an application with templates and files; fails on anything that would end the process. */
async function denyWithViews(onDenied: OnDenied, isLate = false) {
  const settled = watchUnhandled();
  const codes: unknown[] = [];
  const stream = { write: (line: string) => codes.push(JSON.parse(line).code) };
  const app = Fastify({ logger: { level: "warn", stream } });
  await app.register(fastifyView, { engine: { ejs }, root: FILES });
  await app.register(fastifyStatic, { root: FILES, serve: false });
  await app.register(headgate, { limits, onDenied });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  await sendRequest();
  const denied = await sendRequest();
  await after(30);
  const late = () => codes.filter((code) => code === "HEADGATE_RESPONSE_ALREADY_SENT").length;
  if (isLate) await waitUntil("it is reported", 5_000, () => late() || undefined);
  await settled();
  return { ...denied, late: late() };
}

type Views = Parameters<OnDenied>[1] & {
  view(name: string, data: object): unknown;
  sendFile(name: string): unknown;
};

test.each<[string, OnDenied, number, string]>([
  [
    "reply.view()",
    (_, reply) => void (reply as Views).view("denied.ejs", { body: "mine" }),
    429,
    "mine",
  ],
  ["reply.sendFile()", (_, reply) => void (reply as Views).sendFile("denied.txt"), 429, "[file]"],
  [
    "a pipe to reply.raw",
    (_, reply) => void Readable.from(["mi", "ne"]).pipe(reply.raw),
    429,
    "mine",
  ],
  ["a text that it returns", async () => "mine", 429, "mine"],
  ["an object that it returns", async () => ({ slow: "down" }), 429, '{"slow":"down"}'],
  ["a list that it returns", () => ["mine"], 429, '["mine"]'],
  ["bytes that it returns", async () => Buffer.from("mine"), 429, "mine"],
  ["a stream that it returns", async () => Readable.from(["mi", "ne"]), 429, "mine"],
  ["a web stream that it returns", async () => new Response("mine").body, 429, "mine"],
  [
    "an object without a prototype that it returns",
    () => Object.assign(Object.create(null), { slow: "down" }),
    429,
    '{"slow":"down"}',
  ],
  ["a Response that it returns", async () => new Response("mine", { status: 503 }), 503, "mine"],
  ["reply.redirect(url)", (_, reply) => reply.redirect("/slow-down"), 302, ""],
  ["reply.code() and reply.redirect(url)", (_, reply) => reply.code(303).redirect("/x"), 303, ""],
])("onDenied that responds with %s is not replaced", async (_, onDenied, status, text) => {
  const denied = await denyWithViews(onDenied);
  expect([denied.status, denied.text.trim(), denied.late]).toEqual([status, text, 0]);
  expect(denied.headers).toMatchObject({
    "retry-after": secondsLeft(3_600),
    ratelimit: expect.stringContaining("r=0"),
  });
});

test.each<[string, OnDenied]>([
  ["nothing", () => {}],
  ["null", async () => null],
  ["a number", async () => 7],
  ["what an array's push returns", () => [].length],
  ["an object of a library", async () => new Map([["secret", 1]])],
  [
    "an object of a class",
    async () =>
      new (class Job {
        id = 1;
      })(),
  ],
  ["the reply, with nothing sent", (_, reply) => reply.header("x-why", "too fast")],
  ["an error", async () => new Error("logged elsewhere")],
])("Headgate responds if onDenied only logs and returns %s", async (_, onDenied) => {
  const denied = await denyWithViews(onDenied);
  expect(denied.headers["content-type"]).toBe("application/problem+json");
  expect([denied.status, denied.late]).toEqual([429, 0]);
});

test.each<[string, OnDenied]>([
  ["reply.send()", (_, reply) => void setTimeout(() => void reply.send("late"), 5)],
  [
    "reply.view()",
    (_, reply) => void setTimeout(() => void (reply as Views).view("denied.ejs", {}), 5),
  ],
  [
    "reply.sendFile()",
    (_, reply) => void setTimeout(() => void (reply as Views).sendFile("denied.txt"), 5),
  ],
  [
    "a pipe to reply.raw",
    (_, reply) => void setTimeout(() => Readable.from(["late"]).pipe(reply.raw), 5),
  ],
  ["reply.raw.end()", (_, reply) => void setTimeout(() => reply.raw.end("late"), 5)],
  [
    "reply.send() of a stream",
    (_, reply) => void setTimeout(() => void reply.send(Readable.from(["late"])), 5),
  ],
])(
  "onDenied that responds too late with %s does not end the process, and is reported once",
  async (_, onDenied) => {
    const denied = await denyWithViews(onDenied, true);
    expect(denied.headers["content-type"]).toBe("application/problem+json");
    expect([denied.status, denied.late]).toEqual([429, 1]);
  },
);

test.each<[string, OnDenied]>([
  [
    "throws",
    (_, reply) => {
      reply.raw.write("half");
      throw new Error("a bug");
    },
  ],
  [
    "pipes no file",
    (_, reply) => {
      reply.raw.write("half");
      createReadStream("/no/such/file").pipe(reply.raw);
    },
  ],
])(
  "onDenied that %s in the middle of a raw response does not leave the client waiting",
  async (_, onDenied) => {
    await expect(denyWithViews(onDenied)).rejects.toThrow();
  },
);

test.each<[string, OnDenied]>([
  ["a stream", (_, reply) => void reply.send(slowly("mi", "ne"))],
  ["a raw pipe", (_, reply) => void slowly("mi", "ne").pipe(reply.raw)],
  ["a hook that takes its time", (_, reply) => void reply.header("x-slow", "1").send("mine")],
])(
  "onDenied that throws while it responds by %s does not abort the response",
  async (_, answer) => {
    const settled = watchUnhandled();
    const app = Fastify();
    app.addHook("onSend", async (_request, reply, payload) => {
      if (reply.hasHeader("x-slow")) await after(5);
      return payload;
    });
    app.register(headgate, {
      limits,
      async onDenied(...denied) {
        answer(...denied);
        await after(2);
        throw new Error("a bug");
      },
    });
    app.get("/", async () => "ok");
    const sendRequest = await start(app);
    await sendRequest();
    expect(await sendRequest()).toMatchObject({ status: 429, text: "mine" });
    await settled();
  },
);

/** A stream whose last part takes its time. */
function slowly(first: string, last: string): Readable {
  return Readable.from(
    (async function* () {
      yield first;
      await after(6);
      yield last;
    })(),
  );
}

test("a stream that onDenied sends too late is destroyed", async () => {
  const stream = new Readable({ read() {} });
  await denyWithViews((_, reply) => void setTimeout(() => void reply.send(stream), 5));
  expect(stream.destroyed).toBe(true);
});

test("a second response of onDenied is reported, and the first is sent", async () => {
  const denied = await denyWithViews((_, reply) => {
    reply.send("mine");
    setTimeout(() => void reply.send("late"), 5);
  });
  expect([denied.status, denied.text, denied.late]).toEqual([429, "mine", 1]);
});

test("a send during a raw pipe of onDenied adds nothing to the response", async () => {
  const denied = await denyWithViews((_, reply) => {
    slowly("mi", "ne").pipe(reply.raw);
    setTimeout(() => void reply.send("late"), 3);
  });
  expect([denied.status, denied.text, denied.late]).toEqual([429, "mine", 1]);
});

test("onDenied that calls the not-found handler has responded, even if that takes time", async () => {
  const app = Fastify();
  app.setNotFoundHandler(async () => {
    await after(5);
    return "not found";
  });
  app.register(headgate, { limits, onDenied: (_, reply) => void reply.callNotFound() });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  await sendRequest();
  expect((await sendRequest()).text).toBe("not found");
});

/** What a late answer brings, and no hook would add to Headgate's. */
const OF_LATE = ["location", "content-disposition", "content-range", "last-modified"];

/** Denies a request beside an onSend hook that takes longer than what comes too late. */
async function denySlowly(onDenied: OnDenied): Promise<TestResponse> {
  const settled = watchUnhandled();
  const app = Fastify({ logger: { level: "silent" } });
  app.addHook("onSend", async (_request, _reply, payload) => {
    await after(10);
    return payload;
  });
  app.register(headgate, { limits, onDenied });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  await sendRequest();
  const denied = await sendRequest();
  await settled();
  return denied;
}

test.each<[string, OnDenied]>([
  ["a redirect", (_, reply) => void setTimeout(() => void reply.redirect("/late"), 2)],
  [
    "a download",
    (_, reply) =>
      void setTimeout(() => {
        for (const name of OF_LATE) reply.header(name, "late");
        reply.code(200).type("text/html").send("late");
      }, 2),
  ],
])("%s during Headgate's response leaves no trace in it", async (_, onDenied) => {
  const denied = await denySlowly(onDenied);
  expect([denied.status, JSON.parse(denied.text).status]).toEqual([429, 429]);
  expect(denied.headers["content-type"]).toBe("application/problem+json");
  expect(OF_LATE.filter((name) => name in denied.headers)).toEqual([]);
});

test("body headers that onDenied set are removed from Headgate's response", async () => {
  const denied = await denyWithViews((_, reply) => {
    for (const name of BODY_HEADERS) {
      reply.header(name, "3");
      reply.raw.setHeader(name, "3");
    }
  });
  expect(denied.headers["content-type"]).toBe("application/problem+json");
  expect(BODY_HEADERS.filter((name) => denied.headers[name] === "3")).toEqual([]);
  expect(JSON.parse(denied.text)).toMatchObject({ status: 429 });
});

test("onDenied that throws causes status 500 even without an error handler", async () => {
  const app = Fastify();
  app.register(headgate, {
    limits,
    onDenied() {
      throw new Error("a bug");
    },
  });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  await sendRequest();
  const denied = await sendRequest();
  expect(denied.status).toBe(500);
  expect(denied.headers).toMatchObject({
    "retry-after": secondsLeft(3_600),
    "cache-control": "no-store",
    "x-ratelimit-remaining": "0",
  });
});

test.each<[string, (reply: FastifyReply) => unknown, string | undefined]>([
  ["sets its own", (reply) => reply.header("Retry-After", "77"), "77"],
  ["sets it on the raw response", (reply) => reply.raw.setHeader("Retry-After", "77"), "77"],
  ["removes it", (reply) => reply.removeHeader("Retry-After"), undefined],
  ["removes it from the raw response", (reply) => reply.raw.removeHeader("Retry-After"), undefined],
])(
  "Retry-After stays as onDenied left it before it threw: onDenied that %s",
  async (_, change, sent) => {
    const app = Fastify();
    app.register(headgate, {
      limits,
      onDenied(_request, reply) {
        change(reply);
        throw new Error("a bug");
      },
    });
    app.get("/", async () => "ok");
    const sendRequest = await start(app);
    await sendRequest();
    const denied = await sendRequest();
    expect([denied.status, denied.headers["retry-after"]]).toEqual([500, sent]);
  },
);

test("an error handler can remove the headers of a denial whose onDenied threw", async () => {
  const app = Fastify();
  app.register(headgate, {
    limits,
    onDenied() {
      throw new Error("a bug");
    },
  });
  app.setErrorHandler((_error, _request, reply) =>
    reply.code(500).removeHeader("Retry-After").removeHeader("X-RateLimit-Limit").send("sorry"),
  );
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  await sendRequest();
  const { text, headers } = await sendRequest();
  expect(text).toBe("sorry");
  expect(headers).not.toHaveProperty("retry-after");
  expect(headers).not.toHaveProperty("x-ratelimit-limit");
  expect(headers).toHaveProperty("x-ratelimit-remaining", "0");
});

test("onDenied runs if the limiter that denies removes headers of another limiter", async () => {
  const app = Fastify();
  await app.register(headgate, { limits: gcra({ limit: 9, window: "1h" }) });
  const narrow = app.rateLimit({
    name: "narrow",
    limits,
    headers: { legacy: false },
    onDenied: (_, reply) => void reply.raw.end("mine"),
  });
  app.get("/", { preHandler: narrow }, async () => "ok");
  const sendRequest = await start(app);
  await sendRequest();
  const denied = await sendRequest();
  expect([denied.status, denied.text]).toEqual([429, "mine"]);
  expect(denied.headers).not.toHaveProperty("x-ratelimit-limit");
});

test("onDenied that sends a file and then something else does not end the process", async () => {
  const denied = await denyWithViews((_, reply) => {
    (reply as Views).sendFile("denied.txt");
    reply.type("text/plain");
    process.nextTick(() => void reply.send({ slow: "down" }));
  });
  expect([denied.status, denied.text.trim(), denied.late]).toEqual([429, "[file]", 1]);
});

test("Headgate responds if onDenied only calls a decorator that returns the reply, such as setCookie", async () => {
  const app = Fastify();
  app.decorateReply("setCookie", function (this: FastifyReply) {
    return this.header("set-cookie", "denied=1");
  });
  app.register(headgate, {
    limits,
    onDenied: (_, reply) => void (reply as FastifyReply & { setCookie(): unknown }).setCookie(),
  });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  await sendRequest();
  const denied = await sendRequest();
  expect(denied.headers).toMatchObject({
    "content-type": "application/problem+json",
    "set-cookie": "denied=1",
  });
});

test("getters among the decorators of a reply are not called", async () => {
  const app = Fastify();
  let isRead = false;
  app.decorateReply("costly", {
    getter() {
      isRead = true;
      return () => {};
    },
  });
  app.register(headgate, { limits, onDenied: () => {} });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  await sendRequest();
  expect((await sendRequest()).status).toBe(429);
  expect(isRead).toBe(false);
});

test("Headgate responds if onDenied unpipes its raw stream", async () => {
  const denied = await denyWithViews((_, reply) => {
    const source = new Readable({ read() {} });
    source.pipe(reply.raw);
    source.unpipe(reply.raw);
  });
  expect(denied.headers["content-type"]).toBe("application/problem+json");
  expect([denied.status, denied.late]).toEqual([429, 0]);
});

test.each<[string, OnDenied]>([
  ["a redirect that is not ASCII", (_, reply) => reply.redirect("/slow-down?from=€")],
  [
    "a header of two lines",
    async (_, reply) => {
      reply.header("x-why", "too\nfast").send("mine");
    },
  ],
  ["a payload that is no text", (_, reply) => void reply.type("text/plain").send(5)],
  ["a file without a name", (_, reply) => void (reply as Views).sendFile(undefined as never)],
  ["a raw chunk that is no text", (_, reply) => void reply.raw.write(5)],
  ["a raw end that is no text", (_, reply) => void reply.raw.end(5)],
])("a client waits forever because %s throws in onDenied", async (_, onDenied) => {
  const denied = await denyWithViews(onDenied);
  expect([denied.status, denied.late]).toEqual([500, 0]);
});

test("Headgate's response is replaced if a hook of the application fails on it", async () => {
  const app = Fastify();
  app.addHook("onSend", async (_request, { statusCode }, payload) => {
    if (statusCode === 429) throw new Error("no signature");
    return payload;
  });
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send("the hook failed"));
  app.register(headgate, { limits, onDenied: () => {} });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  await sendRequest();
  expect(await sendRequest()).toMatchObject({ status: 500, text: "the hook failed" });
});

test("over HTTP/2 onDenied can respond, and a late response is dropped", async () => {
  const settled = watchUnhandled();
  const app = Fastify({ http2: true, logger: { level: "silent" } });
  const ways: OnDenied[] = [
    (_, reply) => void Readable.from(["mi", "ne"]).pipe(reply.raw as never),
    (_, reply) => void setTimeout(() => reply.raw.end("late"), 5),
    (_, reply) => void setTimeout(() => void reply.send("late"), 5),
  ];
  await app.register(headgate, {
    limits,
    onDenied: (request, reply, decision) =>
      ways[Number(request.headers["x-way"])]?.(request as never, reply as never, decision),
  });
  app.get("/", async () => "ok");
  await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => app.close());
  const { port } = app.addresses()[0] as { port: number };
  const session = connect(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  const send = async (way: number) => {
    const stream = session.request({ ":path": "/", "x-way": String(way) });
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    return { status: headers[":status"], text: await text(stream) };
  };
  await send(9);
  expect(await send(0)).toEqual({ status: 429, text: "mine" });
  for (const way of [1, 2]) {
    const { status, text: body } = await send(way);
    expect([status, JSON.parse(body).status]).toEqual([429, 429]);
  }
  await after(20);
  await settled();
});

test("onDenied is not called for a reply that something else took over meanwhile", async () => {
  const app = Fastify();
  const limiter = createLimiter({ limits });
  await limiter.consume("ann");
  const onDenied = vi.fn();
  let reply: FastifyReply | undefined;
  app.addHook("onRequest", async (_, given) => {
    reply = given;
  });
  app.register(headgate, {
    limiter,
    onDenied,
    async key() {
      // As the timeout of another plugin does, which responds after the request was denied.
      reply?.hijack();
      setImmediate(() => reply?.raw.end("timed out"));
      return "ann";
    },
  });
  app.get("/", async () => "ok");
  const sendRequest = await start(app);
  expect(await sendRequest()).toMatchObject({ status: 200, text: "timed out" });
  expect(onDenied).not.toHaveBeenCalled();
  expect(reply?.request.rateLimit).toBeNull();
});
