// What a consumer does with each package, whichever way it was loaded.
const assert = require("node:assert/strict");
const { once } = require("node:events");
const createFastify = require("fastify");
const { Hono } = require("hono");
require("reflect-metadata");
const { Controller, Get, Module } = require("@nestjs/common");
const { NestFactory } = require("@nestjs/core");
const { Registry } = require("prom-client");

/** Fails unless each package admits two requests of three, which is counted; a breaker, two calls that fail. */
module.exports = async function consume({
  core,
  redis,
  http,
  admin,
  breaker,
  fetching,
  sdks,
  telemetry,
  headgate,
  rateLimit,
  express,
  hono,
  nestjs,
}) {
  const limits = core.slidingLog({ limit: 2, window: "1h" });
  const registry = new Registry();
  const observation = telemetry.observe(registry);

  const limiter = core.createLimiter({ limits });
  const decisions = [];
  for (let i = 0; i < 3; i++) decisions.push(await limiter.consume("somebody"));
  const verdicts = decisions.map(({ allowed }) => allowed);
  assert.deepEqual(verdicts, [true, true, false]);
  assert.equal(typeof redis.redisStore, "function");
  assert.equal(http.toProblem(decisions[2]).status, 429);
  assert.equal(typeof admin.createAdmin, "function");

  const guarded = breaker.createBreaker({ minimumCalls: 2 });
  const refusals = [];
  for (let i = 0; i < 3; i++) {
    const call = () => Promise.reject(new Error("upstream"));
    refusals.push(await guarded.run(call, { fallback: ({ reason }) => reason }));
  }
  assert.deepEqual(refusals, ["error", "error", "open"]);

  const send = fetching.limitFetch({
    name: "partner",
    limits,
    key: () => "account",
    timeout: 0,
    fetch: async () => Response.json({ data: {}, choices: [] }),
  });
  const { OpenAI, createAdminApiClient } = sdks;
  const openai = new OpenAI({ apiKey: "secret", maxRetries: 0, fetch: send });
  const question = { model: "any", messages: [] };
  assert.equal((await openai.chat.completions.create(question)).choices.length, 0);
  const shopify = createAdminApiClient({
    storeDomain: "https://tea.myshopify.com",
    apiVersion: "2026-10",
    accessToken: "secret",
    customFetchApi: send,
    logger: () => {},
  });
  assert.equal((await shopify.request("query { shop { name } }")).errors, undefined);
  await assert.rejects(send("https://api.example"), { code: "HEADGATE_DENIED" });
  await send.limiter.close();

  const fastify = createFastify();
  fastify.register(headgate, { limits });
  fastify.get("/", async () => "");
  assert.deepEqual(await askThrice(await fastify.listen({ port: 0 })), [200, 200, 429]);
  await fastify.close();

  const app = express();
  app.use(rateLimit({ limits }));
  app.get("/", (_req, res) => res.end());
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  assert.deepEqual(await askThrice(`http://127.0.0.1:${port}`), [200, 200, 429]);
  server.closeAllConnections();
  server.close();

  const getConnInfo = () => ({ remote: { address: "203.0.113.7" } });
  const web = new Hono().use(hono.rateLimit({ limits, getConnInfo })).get("/", (c) => c.text(""));
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await web.request("/")).status);
  assert.deepEqual(statuses, [200, 200, 429]);

  class Pages {
    page() {
      return "";
    }
  }
  Get()(Pages.prototype, "page", Object.getOwnPropertyDescriptor(Pages.prototype, "page"));
  Controller()(Pages);
  class Application {}
  Module({ imports: [nestjs.HeadgateModule.forRoot({ limits })], controllers: [Pages] })(
    Application,
  );
  const nest = await NestFactory.create(Application, { logger: false });
  await nest.listen(0, "127.0.0.1");
  assert.deepEqual(await askThrice(await nest.getUrl()), [200, 200, 429]);
  await nest.close();

  const denied = /^headgate_decisions_total\{.*outcome="denied".*\} 5$/m;
  assert.match(await registry.metrics(), denied);
  observation.stop();
};

async function askThrice(url) {
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await fetch(url)).status);
  return statuses;
}
