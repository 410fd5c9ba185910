import headgate, { gcra } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

const rateLimit = { limits: gcra({ limit: 2, window: "1h" }) };

test("routes of one path for several hosts have separate counters", async () => {
  const app = Fastify();
  app.register(headgate, { limits: gcra({ limit: 99, window: "1h" }) });
  for (const host of ["a.example", "b.example"]) {
    app.get("/", { constraints: { host }, config: { rateLimit } }, async () => host);
  }
  app.get("/", { constraints: { host: /^c\./ }, config: { rateLimit } }, async () => "c");
  app.get("/", { config: { rateLimit } }, async () => "any");
  const sendRequest = await start(app);
  for (const host of ["a.example", "b.example", "c.example", "d.example"]) {
    for (const status of [200, 200, 429]) {
      expect([host, (await sendRequest("/", { headers: { host } })).status]).toEqual([
        host,
        status,
      ]);
    }
  }
});

test("routes of one path in several versions have separate limits and counters", async () => {
  const app = Fastify();
  const three = { limits: gcra({ limit: 3, window: "1h" }) };
  app.get("/", { constraints: { version: "1.0.0" }, config: { rateLimit } }, async () => "one");
  app.get(
    "/",
    { constraints: { version: "2.0.0" }, config: { rateLimit: three } },
    async () => "two",
  );
  app.register(headgate, { limits: gcra({ limit: 99, window: "1h" }) });
  const sendRequest = await start(app);
  const version = (text: string) => sendRequest("/", { headers: { "accept-version": text } });
  for (const status of [200, 200, 429]) expect((await version("1.x")).status).toBe(status);
  for (const status of [200, 200, 200, 429]) expect((await version("2.x")).status).toBe(status);
});

test("HEAD of a constrained route shares the counter of that route", async () => {
  const app = Fastify();
  app.register(headgate, { limits: gcra({ limit: 99, window: "1h" }) });
  app.get("/", { constraints: { host: "a.example" }, config: { rateLimit } }, async () => "a");
  app.get("/", { constraints: { host: "b.example" }, config: { rateLimit } }, async () => "b");
  const sendRequest = await start(app);
  const head = (host: string) => sendRequest("/", { method: "HEAD", headers: { host } });
  for (const status of [200, 200, 429]) expect((await head("a.example")).status).toBe(status);
  expect((await sendRequest("/", { headers: { host: "a.example" } })).status).toBe(429);
  expect((await head("b.example")).status).toBe(200);
});
