import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import headgate, { gcra, HeadgateDeniedError } from "@headgate/fastify";
import { Type } from "@sinclair/typebox";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { secondsLeft } from "../support/seconds-left.ts";
import { start } from "./start-fastify.ts";

const limits = gcra({ limit: 1, window: "1h", name: "one" });

const PROBLEM = {
  type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
  title: "Too Many Requests",
  status: 429,
  "violated-policies": ["one"],
};

/** Denies the second request of an application. */
async function denyIn(app: FastifyInstance) {
  const sendRequest = await start(app);
  expect((await sendRequest()).status).toBe(200);
  return sendRequest();
}

const schemas = {
  "4xx": Type.Object({ error: Type.String() }),
  429: Type.Object({ wait: Type.Number() }, { additionalProperties: false }),
  default: Type.Object({ nothing: Type.String() }),
  "200": Type.Object({ ok: Type.Boolean() }),
};

test.each(Object.entries(schemas))(
  "a response schema for %s does not change a denial",
  async (status, schema) => {
    const app = Fastify().withTypeProvider<TypeBoxTypeProvider>();
    app.register(headgate, { limits });
    const response = { "200": schemas["200"], [status]: schema };
    app.get("/", { schema: { response } }, async () => ({ ok: true }));
    const denied = await denyIn(app as never);
    expect(denied.status).toBe(429);
    expect(denied.json()).toEqual(PROBLEM);
  },
);

test("a response schema for application/problem+json does not change a denial", async () => {
  const app = Fastify();
  app.register(headgate, { limits });
  const content = { "application/problem+json": { schema: Type.Object({ other: Type.String() }) } };
  app.get("/", { schema: { response: { "4xx": { content } } } }, async () => ({ ok: true }));
  expect((await denyIn(app)).json()).toEqual(PROBLEM);
});

test("serializers of the application do not change a denial", async () => {
  const app = Fastify();
  app.setReplySerializer(() => '"serialized"');
  app.setSerializerCompiler(() => () => '"compiled"');
  app.register(headgate, { limits });
  app.get("/", async () => ({ ok: true }));
  expect((await denyIn(app)).json()).toEqual(PROBLEM);
});

test("a serializer that a hook sets on the reply does not change a denial", async () => {
  const app = Fastify();
  app.addHook("onRequest", async (_request, reply) => {
    reply.serializer(() => '"serialized"');
  });
  app.register(headgate, { limits, hook: "preHandler" });
  app.addHook("preSerialization", async () => ({ wrapped: true }));
  app.get("/", async () => ({ ok: true }));
  expect((await denyIn(app)).json()).toEqual(PROBLEM);
});

test("onSend hooks see a denial, and may add headers or replace the body", async () => {
  const app = Fastify();
  app.register(headgate, { limits });
  app.addHook("onSend", async (_request, reply, payload) => {
    await new Promise(setImmediate);
    reply.header("x-seen", reply.statusCode);
    return reply.statusCode === 429 ? `${payload}` : payload;
  });
  app.get("/", async () => ({ ok: true }));
  const denied = await denyIn(app);
  expect(denied.headers["x-seen"]).toBe("429");
  expect(denied.json()).toEqual(PROBLEM);
});

test("the error handler responds if an onSend hook fails on a denial", async () => {
  const app = Fastify();
  app.setErrorHandler((error, _request, reply) =>
    reply.code(500).send({ said: (error as Error).message }),
  );
  app.register(headgate, { limits });
  app.addHook("onSend", async (_request, reply) => {
    if (reply.statusCode === 429) throw new Error("away");
  });
  app.get("/", async () => ({ ok: true }));
  expect((await denyIn(app)).json()).toEqual({ said: "away" });
});

test("onResponse hooks see the status of a denial", async () => {
  const statuses: number[] = [];
  const app = Fastify();
  app.register(headgate, { limits });
  app.addHook("onResponse", async (_request, { statusCode }) => {
    statuses.push(statusCode);
  });
  app.get("/", async () => ({ ok: true }));
  await denyIn(app);
  await app.close();
  expect(statuses).toEqual([200, 429]);
});

test("the error handler is not called for responses of Headgate", async () => {
  const errors: unknown[] = [];
  const app = Fastify();
  app.setErrorHandler((error) => {
    errors.push(error);
  });
  app.register(headgate, { limits });
  app.get("/", async () => ({ ok: true }));
  expect((await denyIn(app)).json()).toEqual(PROBLEM);
  expect(errors).toEqual([]);
});

test('onDenied: "error" calls the error handler of the route\'s scope', async () => {
  const app = Fastify();
  app.register(headgate, { limits, onDenied: "error" });
  app.setErrorHandler(async () => "the application's");
  app.register(async (scope) => {
    scope.setErrorHandler(async (error, _request, reply) => {
      const denied = error instanceof HeadgateDeniedError;
      return reply.send({ denied, status: reply.statusCode });
    });
    scope.get("/", async () => ({ ok: true }));
  });
  const denied = await denyIn(app);
  expect(denied.headers["retry-after"]).toEqual(secondsLeft(3_600));
  expect(denied.json()).toEqual({ denied: true, status: 429 });
});

test("a route's onDenied replaces the plugin's", async () => {
  const app = Fastify();
  app.register(headgate, { limits, onDenied: "error" });
  const config = { rateLimit: { onDenied: () => {} } };
  app.get("/", { config }, async () => ({ ok: true }));
  expect((await denyIn(app)).json()).toEqual(PROBLEM);
});
