import { once } from "node:events";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import type { HeadgateOptions } from "@headgate/fastify";
import headgate, {
  createLimiter,
  fixedWindow,
  gcra,
  memoryStore,
  slidingLog,
} from "@headgate/fastify";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "../fastify/start-fastify.ts";
import { eventually } from "../support/eventually.ts";
import { manualClock } from "../support/manual-clock.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { openRequest, sendAndWait, statusOf, waitedMs, watchQueue } from "./waiting-clients.ts";

const hourly = slidingLog({ limit: 1, window: "1h", name: "hourly" });
const soon = fixedWindow({ limit: 1, window: "50ms" });

describe("a route with wait", () => {
  test("a route inherits wait, and may override it or turn it off", async () => {
    const app = Fastify();
    await app.register(headgate, { name: "api", limits: hourly, wait: 40 });
    const route = (rateLimit: object) => ({ config: { rateLimit } });
    app.get("/", async () => "");
    app.get("/own", route({ limits: hourly }), async () => "");
    app.get("/longer", route({ limits: hourly, wait: 120 }), async () => "");
    app.get("/none", route({ limits: hourly, wait: false }), async () => "");
    const sendRequest = await start(app);
    const waits: (number | undefined)[] = [];
    for (const path of ["/", "/own", "/longer", "/none"]) {
      expect((await sendRequest(path)).status).toBe(200);
      const { status, headers } = await sendRequest(path);
      expect(status).toBe(429);
      waits.push(waitedMs(headers["server-timing"]));
    }
    const [plugin = 0, own = 0, longer = 0, none] = waits;
    expect(plugin).toBeGreaterThanOrEqual(39);
    expect(own).toBeGreaterThanOrEqual(39);
    expect(longer).toBeGreaterThanOrEqual(119);
    expect(none).toBeUndefined();
  });

  test("a route that extends the plugin waits for both limiters", async () => {
    const app = Fastify();
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    await app.register(headgate, { name: "api", limits: soon, store, wait: "10s" });
    const rateLimit = { limits: gcra({ limit: 9, window: "1h" }), extend: true };
    app.get("/", { config: { rateLimit } }, async () => "");
    const sendRequest = await start(app);
    await sendRequest("/");
    const { status, headers } = await sendAndWait(() => sendRequest("/"), clock, 50);
    expect(status).toBe(200);
    expect(waitedMs(headers["server-timing"])).toBeGreaterThan(0);
  });

  test("an invalid wait is rejected when the route is added", async () => {
    const app = Fastify();
    await app.register(headgate, { limits: hourly });
    const add = () => app.get("/", { config: { rateLimit: { wait: "1h" } } }, async () => "");
    expect(add).toThrow("headgate on /: wait must be false, or from 1 ms to 10 minutes");
  });

  test("wait is rejected with a block that is extended or inherited, unless the route turns wait off", async () => {
    const blocking = fixedWindow({ limit: 1, window: "1d", block: "1h", name: "tries" });
    const wait = "1s";
    for (const [limits, route] of [
      [hourly, { limits: blocking }],
      [hourly, { limits: blocking, extend: true }],
      [blocking, { limits: hourly, extend: true, wait }],
    ] as const) {
      const app = Fastify();
      await app.register(headgate, { name: "api", limits, ...(limits === hourly && { wait }) });
      app.get("/", { config: { rateLimit: route } }, async () => "");
      await expect(async () => app.ready()).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
        message: expect.stringContaining(": wait cannot be used with limits that have a block"),
      });
    }
    const app = Fastify();
    await app.register(headgate, { name: "api", limits: hourly, wait });
    app.get("/", { config: { rateLimit: { limits: blocking, wait: false } } }, async () => "");
    const sendRequest = await start(app);
    expect((await sendRequest("/")).status).toBe(200);
  });

  test("a route decided in a later hook waits in that hook, after its body was read", async () => {
    const app = Fastify();
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const options = { name: "api", limits: soon, store, wait: "10s" } as const;
    await app.register(headgate, { ...options, hook: "preHandler" });
    app.post("/", async ({ body }) => body);
    const sendRequest = await start(app);
    const post = () => sendRequest("/", { method: "POST" });
    await post();
    const { status, headers } = await sendAndWait(post, clock, 50);
    expect(status).toBe(200);
    expect(waitedMs(headers["server-timing"])).toBeGreaterThan(0);
  });
});

test.each([
  ["handlerTimeout", 503],
  ["connectionTimeout", 0],
] as const)("%s ends the wait, and frees the place in the queue", async (option, status) => {
  const settled = watchUnhandled();
  const limiter = createLimiter({ limits: hourly, maxQueue: 1 });
  await limiter.consume("127.0.0.1");
  const app = Fastify({ [option]: 100 });
  await app.register(headgate, { limiter, wait: "10m" });
  app.get("/", async () => "handled");
  await start(app);
  const { response } = await openRequest((app.server.address() as AddressInfo).port, "/");
  expect(statusOf(await response)).toBe(status);
  await eventually(async () => {
    const { code } = await limiter.wait("127.0.0.1", { timeout: 1 }).catch(Object);
    expect(code).toBe("HEADGATE_WAIT_TIMEOUT");
  });
  await settled();
});

test("closing the application responds to waiting requests without delay", async () => {
  const line = watchQueue();
  const app = Fastify();
  await app.register(headgate, { limits: hourly, wait: "10m" });
  app.get("/", async () => "");
  const sendRequest = await start(app);
  await sendRequest("/");
  const { response } = await openRequest((app.server.address() as AddressInfo).port, "/");
  await line.joined(1);
  await app.close();
  expect(statusOf(await response)).toBe(429);
});

test("Server-Timing is appended to the application's own", async () => {
  const app = Fastify();
  app.addHook("onRequest", async (_, reply) => {
    reply.header("Server-Timing", "db;dur=1");
  });
  await app.register(headgate, { limits: hourly, wait: 5, onDenied: () => {} });
  app.get("/", async () => "");
  const sendRequest = await start(app);
  expect((await sendRequest("/")).headers["server-timing"]).toBe("db;dur=1");
  expect((await sendRequest("/")).headers["server-timing"]).toMatch(
    /^db;dur=1, headgate;dur=\d+\.\d$/,
  );
});

describe("wait over HTTP/2", () => {
  async function serving(options: HeadgateOptions): Promise<ClientHttp2Session> {
    const app = Fastify({ http2: true });
    await app.register(headgate as never, options);
    app.get("/", async () => "ok");
    await app.listen({ host: "127.0.0.1", port: 0 });
    const client = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
    onTestFinished(async () => {
      client.destroy();
      await app.close();
    });
    return client;
  }

  async function headersOf(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders> {
    const [headers] = await once(stream, "response");
    stream.resume();
    return headers as IncomingHttpHeaders;
  }

  test("streams of one connection wait in the queue", async () => {
    const line = watchQueue();
    const clock = manualClock();
    const store = memoryStore({ clock: clock.now });
    const client = await serving({ name: "api", limits: soon, store, wait: "10s" });
    const asked = [1, 2, 3].map(() => headersOf(client.request({ ":path": "/" })));
    await line.joined(2);
    const answers: IncomingHttpHeaders[] = [];
    for (const answer of asked) {
      answers.push(await answer);
      clock.advance(50);
    }
    expect(answers.map((headers) => headers[":status"])).toEqual([200, 200, 200]);
    const waits = answers.map((headers) => waitedMs(headers["server-timing"] as string));
    expect(waits.filter((ms) => ms !== undefined)).toHaveLength(2);
  });

  test("streams that are reset while they wait leave the queue, and cost nothing", async () => {
    const line = watchQueue();
    const settled = watchUnhandled();
    const limiter = createLimiter({ limits: hourly, maxQueue: 30 });
    await limiter.consume("127.0.0.1");
    const client = await serving({ limiter, wait: "10m" });
    const streams = Array.from({ length: 15 }, () => {
      const stream = client.request({ ":path": "/" });
      stream.on("error", () => {});
      return stream;
    });
    await line.joined(15);
    // The line is full.
    expect((await headersOf(client.request({ ":path": "/" })))["server-timing"]).toBeUndefined();
    for (const stream of streams) stream.close(8);
    const waits = Array.from({ length: 30 }, () =>
      eventually(async () => {
        const { code } = await limiter.wait("127.0.0.1", { timeout: 50 }).catch(Object);
        expect(code).toBe("HEADGATE_WAIT_TIMEOUT");
      }),
    );
    await Promise.all(waits);
    await settled();
  });
});
