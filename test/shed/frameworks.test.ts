import type { Server } from "node:http";
import type { Socket } from "node:net";
import { fixedWindow, rateLimit } from "@headgate/express";
import { loadShedder } from "@headgate/shed";
import type { HttpBindings } from "@hono/node-server";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import supertest from "supertest";
import { describe, expect, test } from "vitest";
import { deferred } from "../http/support/deferred.ts";
import { serve as serveApp } from "../support/serve.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { Handler } from "./servers.ts";
import { context, SERVERS } from "./servers.ts";

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

describe.each(Object.entries(SERVERS))("on %s", (_, serve) => {
  test("a request that waited has its body, and its handler the async context", async () => {
    const { handle, handled, release } = createHandler();
    const shed = loadShedder({ maxInFlight: 1, maxWait: "1m" });
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
      priority: ({ url }) => (url === "/late" ? "default" : "critical"),
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

  test("a request that is not shed passes as it is", async () => {
    const { handle } = createHandler();
    const shed = loadShedder({ maxWait: "1m" });
    const agent = supertest(await serve(shed, handle));
    const { status, headers, text } = await agent.get("/").set("x-context", "one");
    expect({ status, text }).toEqual({ status: 200, text: "one " });
    expect(headers).not.toHaveProperty("retry-after");
    await shed.close();
  });

  test("a function of the options that fails is an error of the request", async () => {
    const { handle, handled } = createHandler();
    const shed = loadShedder({
      subject() {
        throw new Error("wrong");
      },
    });
    const agent = supertest(await serve(shed, handle));
    expect((await agent.get("/")).status).toBe(500);
    expect(handled).toEqual([]);
    await shed.close();
    // Nobody is distinguished any more.
    expect((await agent.get("/")).status).toBe(200);
  });
});

test("on Hono, middleware around the load shedder learns that a client in line has disconnected", async () => {
  const shed = loadShedder({ maxInFlight: 1, maxWait: "1m" });
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
