import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { RequestListener, Server } from "node:http";
import type { Socket } from "node:net";
import { boundSubject } from "@headgate/core/internal";
import {
  combineSubjects,
  fixedWindow,
  rateLimit,
  subjectOfAddress,
  subjectOfHeader,
} from "@headgate/express";
import type { LoadShedder, ShedRequest } from "@headgate/shed";
import { byHeader, byIp, combineKeys, loadShedder, SHED_CHANNELS } from "@headgate/shed";
import type { HttpBindings } from "@hono/node-server";
import { createAdaptorServer, getRequestListener } from "@hono/node-server";
import type { ErrorRequestHandler } from "express";
import express from "express";
import Fastify from "fastify";
import type { Context } from "hono";
import { Hono } from "hono";
import supertest from "supertest";
import { describe, expect, onTestFinished, test } from "vitest";
import { deferred } from "../http/support/deferred.ts";
import { serve as serveApp } from "../support/serve.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { Handler, ServedRequest } from "./servers.ts";
import { context, pathOf, SERVERS } from "./servers.ts";

/** An application that handles one request at a time, of which those to `/held` last until they are released. */
function createHandler() {
  const held = deferred();
  const handled: string[] = [];
  const handle: Handler = async (path, body) => {
    handled.push(path);
    if (path === "/held") await held.promise;
    return `${context.getStore()} ${body}`;
  };
  return { handle, handled, release: () => held.resolve() };
}

const PROBLEM = {
  type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
  title: "Service Unavailable",
  status: 503,
  "violated-policies": [],
};

/** Applications that pass each request through a load shedder twice, and resolve with their handlers. */
const TWICE: Readonly<Record<string, (shed: LoadShedder<never>) => Promise<RequestListener>>> = {
  async "node:http"(shed) {
    return (req, res) => shed(req as never, res, () => shed(req as never, res, () => res.end()));
  },
  async "Express, in the application and a route"(shed) {
    const app = express();
    app.use(shed as never);
    app.get("/", shed as never, (_req, res) => void res.end());
    return app;
  },
  async Fastify(shed) {
    const app = Fastify();
    onTestFinished(() => app.close());
    await app.register(shed.fastify);
    await app.register(shed.fastify);
    app.get("/", async () => "");
    await app.ready();
    return app.routing;
  },
  async Hono(shed) {
    const app = new Hono();
    app.use(shed.hono as never, shed.hono as never);
    app.get("/", (c) => c.text(""));
    const listener = getRequestListener(app.fetch);
    return (req, res) => void listener(req, res);
  },
};

describe.each(Object.entries(TWICE))("mounted twice on %s", (_, createApp) => {
  test("a load shedder counts a request once, so that it does not wait for itself", async () => {
    const shed = loadShedder<never>({ maxInFlight: 1, maxWait: "1m", subject: () => "ada" });
    const agent = supertest(await serveApp(await createApp(shed)));
    // Neither waits for itself, nor the second for what the first has left in flight.
    for (let i = 0; i < 2; i += 1) expect((await agent.get("/")).status).toBe(200);
    await shed.close();
  });
});

describe.each(Object.entries(SERVERS))("on %s", (_, serve) => {
  test("a request that waited has its body, and its handler the async context", async () => {
    const { handle, handled, release } = createHandler();
    const shed = loadShedder<ServedRequest>({ maxInFlight: 1, maxWait: "1m" });
    const agent = supertest(await serve(shed, handle));
    const first = agent.get("/held").set("x-context", "first").then();
    await waitUntil("it is handled", 5_000, async () => handled[0]);

    const body = "b".repeat(50_000);
    const post = agent.post("/echo").set("x-context", "second").type("text/plain");
    const second = post.send(body).then();
    await waitUntil("it waits", 5_000, async () => shed.status().waiting || undefined);
    expect(handled).toEqual(["/held"]);
    release();
    expect(await first).toMatchObject({ status: 200, text: "first " });
    expect(await second).toMatchObject({ status: 200, text: `second ${body}` });
    await shed.close();
  });

  test("a request that waited too long gets status 503 with a problem, and its connection goes on", async () => {
    const { handle, handled, release } = createHandler();
    const shed = loadShedder({
      maxInFlight: 1,
      maxWait: "20ms",
      retryAfter: "7s",
      // However busy the machine is, only this one may be shed.
      priority: (request: ServedRequest) => (pathOf(request) === "/late" ? "default" : "critical"),
    });
    const agent = supertest(await serve(shed, handle));
    const first = agent.get("/held").then();
    await waitUntil("it is handled", 5_000, async () => handled[0]);

    const { status, headers, body } = await agent.post("/late").type("text/plain").send("text");
    expect({ status, body }).toEqual({ status: 503, body: PROBLEM });
    expect(headers).toMatchObject({
      "content-type": "application/problem+json",
      "retry-after": "7",
      "cache-control": "no-store",
    });
    expect(handled).toEqual(["/held"]);
    release();
    await first;
    expect((await agent.get("/")).status).toBe(200);
    await shed.close();
  });

  test("a subject by a key function is the one that a limiter with this key counts", async () => {
    const { handle, handled, release } = createHandler();
    const subjects: unknown[] = [];
    const onShed = (message: unknown): void => void subjects.push((message as ShedRequest).subject);
    subscribe(SHED_CHANNELS.request, onShed);
    onTestFinished(() => void unsubscribe(SHED_CHANNELS.request, onShed));
    const shed = loadShedder<ServedRequest>({
      maxInFlight: 1,
      maxWait: "20ms",
      priority: (request) => (pathOf(request) === "/late" ? "default" : "critical"),
      subject: combineKeys(byHeader("x-api-key"), byIp(), (_, address) => address) as never,
    });
    const agent = supertest(await serve(shed, handle));
    const first = agent.get("/held").then();
    await waitUntil("it is handled", 5_000, async () => handled[0]);
    expect((await agent.get("/late").set("x-api-key", "ada")).status).toBe(503);
    const counted = combineSubjects(
      subjectOfHeader("x-api-key", "ada"),
      subjectOfAddress("127.0.0.1"),
      "127.0.0.1",
    );
    expect(subjects).toEqual([boundSubject(counted)]);
    release();
    await first;
    await shed.close();
  });

  test("a request that is not shed passes as it is", async () => {
    const { handle } = createHandler();
    const shed = loadShedder<ServedRequest>({ maxWait: "1m" });
    const agent = supertest(await serve(shed, handle));
    const { status, headers, text } = await agent.get("/").set("x-context", "one");
    expect({ status, text }).toEqual({ status: 200, text: "one " });
    expect(headers).not.toHaveProperty("retry-after");
    await shed.close();
  });

  test("a function of the options that fails is an error of the request", async () => {
    const { handle, handled } = createHandler();
    const shed = loadShedder<ServedRequest>({
      subject() {
        throw new Error("wrong");
      },
    });
    const agent = supertest(await serve(shed, handle));
    expect((await agent.get("/")).status).toBe(500);
    expect(handled).toEqual([]);
    await shed.close();
    // Clients are not distinguished any more.
    expect((await agent.get("/")).status).toBe(200);
  });
});

const BEHIND_PROXY: Readonly<Record<string, (shed: LoadShedder) => Promise<string>>> = {
  Express(shed) {
    const app = express().set("trust proxy", "loopback");
    app.use(shed, (_req, res) => void res.send("ok"));
    return serveApp(app);
  },

  async Fastify(shed) {
    const app = Fastify({ trustProxy: "loopback", forceCloseConnections: true });
    onTestFinished(() => app.close());
    await app.register(shed.fastify);
    app.get("/", () => "ok");
    return app.listen({ port: 0, host: "127.0.0.1" });
  },
};

test.each(Object.entries(BEHIND_PROXY))(
  "on %s, a subject's function gets the address that the proxy trust gives, in IPv6 its /64",
  async (_, serve) => {
    const addresses: unknown[] = [];
    const shed = loadShedder({
      subject(_request, address) {
        addresses.push(address);
        return address;
      },
    });
    const url = await serve(shed);
    await fetch(url, { headers: { "x-forwarded-for": "2001:db8::7" } });
    expect(addresses).toEqual(["2001:db8::/64"]);
    await shed.close();
  },
);

test("on Express, an error of other middleware in the response to a shed request is one of this request", async () => {
  const held = deferred();
  let isHeld = false;
  const shed = loadShedder({
    maxInFlight: 1,
    maxWait: "20ms",
    priority: ({ url }) => (url === "/late" ? "default" : "critical"),
  });
  const app = express();
  app.use((_req, res, next) => {
    const { writeHead } = res;
    res.writeHead = () => {
      res.writeHead = writeHead;
      throw new Error("no session");
    };
    next();
  });
  app.use(shed, async (_req, res) => {
    isHeld = true;
    await held.promise;
    res.end();
  });
  app.use(((error, _req, res, _next) => {
    res.status(500).send(error.message);
  }) satisfies ErrorRequestHandler);
  const agent = supertest(await serveApp(app));
  const first = agent.get("/held").then();
  await waitUntil("it is in flight", 5_000, async () => isHeld || undefined);
  expect(await agent.get("/late")).toMatchObject({ status: 500, text: "no session" });
  held.resolve();
  await first;
  await shed.close();
});

test("on Hono, middleware around the load shedder learns that a client in line has disconnected", async () => {
  const shed = loadShedder<Context>({ maxInFlight: 1, maxWait: "1m" });
  const held = deferred();
  const ended: string[] = [];
  let isHeld = false;
  let leavingServer: Socket | undefined;
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(async (c, next) => {
    if (c.req.path === "/leaving") leavingServer = c.env.incoming.socket;
    try {
      await next();
    } finally {
      ended.push(`${c.req.path} ${c.res.status}`);
    }
  });
  app.use(shed.hono);
  app.get("/held", async (c) => {
    isHeld = true;
    await held.promise;
    return c.text("held");
  });
  app.get("/leaving", (c) => c.text("handled"));
  const url = await serveApp(createAdaptorServer(app) as Server);
  const first = fetch(`${url}/held`);
  await waitUntil("it is in flight", 5_000, async () => isHeld || undefined);
  const leaving = new AbortController();
  const second = fetch(`${url}/leaving`, { signal: leaving.signal }).catch(() => "left");
  await waitUntil("it waits", 5_000, async () => shed.status().waiting || undefined);
  leaving.abort();
  expect(await second).toBe("left");
  await waitUntil("the server knows", 5_000, async () => leavingServer?.destroyed || undefined);
  held.resolve();
  expect((await first).status).toBe(200);
  await shed.close();
  await waitUntil("both have ended", 5_000, async () => ended.length === 2 || undefined);
  expect(ended.toSorted()).toEqual(["/held 200", "/leaving 499"]);
});

test("a request that is shed before a limit is charged nothing", async () => {
  const shed = loadShedder({
    maxInFlight: 1,
    maxWait: "20ms",
    priority: ({ url }) => (url === "/late" ? "default" : "critical"),
  });
  const held = deferred();
  let isHeld = false;
  const app = express();
  const limit = rateLimit({ limits: fixedWindow({ limit: 2, window: "1h" }) });
  app.use(shed, limit);
  app.get("/held", async (_req, res) => {
    isHeld = true;
    await held.promise;
    res.send("ok");
  });
  app.get("/", (req, res) => void res.send(String(req.rateLimit?.remaining)));
  const agent = supertest(await serveApp(app));
  const first = agent.get("/held").then();
  await waitUntil("it is in flight", 5_000, async () => isHeld || undefined);
  const late = await agent.get("/late");
  expect(late.status).toBe(503);
  expect(late.headers).not.toHaveProperty("ratelimit");
  held.resolve();
  await first;
  expect((await agent.get("/")).text).toBe("0");
  await Promise.all([shed.close(), limit.close()]);
});
