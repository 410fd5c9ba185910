import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { fc } from "@fast-check/vitest";
import fastifyStatic from "@fastify/static";
import fastifyView from "@fastify/view";
import { gcra, rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import compression from "compression";
import ejs from "ejs";
import type { ErrorRequestHandler, Express, RequestHandler } from "express";
import express5 from "express";
import session from "express-session";
import express4 from "express4";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "../fastify/start-fastify.ts";
import { listen } from "../support/listen.ts";
import type { SendRequest, TestResponse } from "../support/send-request.ts";
import { createHttpClient } from "../support/send-request.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { watchWarnings } from "../support/warnings.ts";
import type { DeniedInExpress } from "./express-ways.ts";
import { expressWays } from "./express-ways.ts";
import type { DeniedInFastify } from "./fastify-ways.ts";
import { fastifyWays, NOT_FOUND } from "./fastify-ways.ts";
import type { Expected, Scenario, Ways } from "./scenario.ts";
import { ERROR, expectedOf, lastsMs, play, scenariosOf } from "./scenario.ts";

/** So many scenarios on each application. */
const RUNS = process.env["HEADGATE_LONG"] === "1" ? 5_000 : 60;

/** Milliseconds in which an answer must be there, and those after which a muddle is left alone. */
const ANSWER_MS = 5_000;
const MUDDLE_MS = 50;

/** Node's pipelines add five listeners each to the response, and a scenario may have three of them; Node would warn at eleven. */
const MAX_LISTENERS = 30;

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = after(ms, undefined, { ref: false }).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  return Promise.race([promise, late]);
}

const limits = gcra({ limit: 1, window: "1h" });
const everybody = () => "everybody";
const FILES = join(import.meta.dirname, "files");

/** An application that denies each request but the first, as the scenario says that the request names. */
interface Denying<Denied> {
  readonly sendRequest: SendRequest;
  readonly ways: Ways<Denied>;
  /** By the id that a request carries. */
  readonly scenarios: Map<string, Scenario>;
  /** The ids of the requests that reached the handler. */
  readonly handled: ReadonlySet<unknown>;
  /** How often it was reported that something came too late. */
  readonly reported: () => number;
}

async function onExpress(
  makeApp: () => Express,
  around: readonly RequestHandler[],
): Promise<Denying<DeniedInExpress>> {
  const warnings = watchWarnings();
  const scenarios = new Map<string, Scenario>();
  const handled = new Set<unknown>();
  const app = makeApp();
  app
    .set("views", FILES)
    .set("view engine", "ejs")
    .engine("ejs", ejs.renderFile as never);
  app.use(...around);
  const limit = rateLimit({
    limits,
    key: everybody,
    onDenied: (req, res) => {
      const scenario = scenarios.get(req.get("x-scenario") ?? "") as Scenario;
      res.setMaxListeners(MAX_LISTENERS);
      return play(expressWays, scenario, { req, res });
    },
  });
  app.use(limit as RequestHandler, async (req, res) => {
    handled.add(req.get("x-scenario"));
    await after(2);
    res.status(200).send("[handler]");
  });
  const onError: ErrorRequestHandler = (_error, _req, res, next) => {
    if (res.headersSent) next(_error);
    else res.status(500).send(ERROR);
  };
  app.use(onError);
  const server = await listen(app);
  const { sendRequest, end } = createHttpClient(server.address() as { port: number });
  onTestFinished(end);
  return {
    sendRequest,
    ways: expressWays,
    scenarios,
    handled,
    reported: () => lateIn(warnings),
  };
}

async function onFastify(hasHooks: boolean): Promise<Denying<DeniedInFastify>> {
  const scenarios = new Map<string, Scenario>();
  const handled = new Set<unknown>();
  let reported = 0;
  const stream = {
    write(line: string) {
      if (JSON.parse(line).code === "HEADGATE_RESPONSE_ALREADY_SENT") reported += 1;
    },
  };
  const app = Fastify({ logger: { level: "warn", stream } });
  await app.register(fastifyView, { engine: { ejs }, root: FILES, propertyName: "page" });
  await app.register(fastifyStatic, { root: FILES, serve: false });
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send(ERROR));
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(NOT_FOUND));
  if (hasHooks) {
    app.addHook("onSend", async (_request, _reply, payload) => {
      await after(2);
      return payload;
    });
  }
  await app.register(headgate, {
    limits,
    key: everybody,
    onDenied: (request, reply) => {
      const scenario = scenarios.get(String(request.headers["x-scenario"])) as Scenario;
      reply.raw.setMaxListeners(MAX_LISTENERS);
      return play(fastifyWays, scenario, { request, reply: reply as DeniedInFastify["reply"] });
    },
  });
  app.get("/", async (request) => {
    handled.add(request.headers["x-scenario"]);
    return "[handler]";
  });
  const sendRequest = await start(app);
  return { sendRequest, ways: fastifyWays, scenarios, handled, reported: () => reported };
}

function lateIn(warnings: readonly { readonly code: string }[]): number {
  return warnings.filter(({ code }) => code === "HEADGATE_RESPONSE_ALREADY_SENT").length;
}

/** Denies a request, and checks what came of it. */
async function check<Denied>(app: Denying<Denied>, scenario: Scenario): Promise<void> {
  const id = randomUUID();
  app.scenarios.set(id, scenario);
  const expected = expectedOf(app.ways, scenario);
  const asked = app.sendRequest("/", { headers: { "x-scenario": id } });
  if (expected.by === "anybody") await Promise.race([asked.catch(() => {}), after(MUDDLE_MS)]);
  else await checkAnswer(expected, await within(ANSWER_MS, asked));
  // What is late must have its chance to do harm.
  await after(lastsMs(scenario) + 6);
  if (expected.by === "handler") expect(app.handled).toContain(id);
  else if (!mayPass(app.ways, scenario)) expect(app.handled).not.toContain(id);
  app.scenarios.delete(id);
}

/** Whether the request may have reached the handler in the muddle that a scenario is. */
function mayPass<Denied>(ways: Ways<Denied>, { steps }: Scenario): boolean {
  if (steps.some(({ way }) => way === "next")) return true;
  const isMuddle = expectedOf(ways, { steps }).by === "anybody";
  return isMuddle && steps.some(({ way }) => ways[way]?.letsOn === true);
}

async function checkAnswer(expected: Expected, response: TestResponse): Promise<void> {
  const { status, headers, text } = response;
  if (expected.by === "application") {
    expect(expected.bodies).toContain(text.trim());
    return;
  }
  if (expected.by === "handler") {
    expect([status, text]).toEqual([200, "[handler]"]);
    expect(headers).toHaveProperty("ratelimit");
    expect(headers).not.toHaveProperty("retry-after");
    expect(headers).not.toHaveProperty("cache-control");
    return;
  }
  expect([status, headers["content-type"]]).toEqual([429, "application/problem+json"]);
  expect(response.json()).toMatchObject({ status: 429, "violated-policies": ["1-per-1h"] });
}

async function fuzz<Denied>(app: Denying<Denied>): Promise<void> {
  const settled = watchUnhandled();
  expect((await app.sendRequest("/", { headers: { "x-scenario": "" } })).text).toBe("[handler]");
  await fc.assert(
    fc.asyncProperty(scenariosOf(app.ways), (scenario) => check(app, scenario)),
    { numRuns: RUNS, endOnFailure: true },
  );
  await settled();
  expect(app.reported()).toBe(1);
}

const plain: RequestHandler[] = [(_req, _res, next) => next()];

/** Middleware that keeps answers back: compression until there is enough, a session until it has been saved. */
const holding: RequestHandler[] = [
  compression(),
  session({ secret: "s", resave: true, saveUninitialized: true, cookie: {} }),
];

const APPLICATIONS: Readonly<Record<string, () => Promise<Denying<never>>>> = {
  "Express 4": () => onExpress(express4, plain),
  "Express 4 with compression and sessions": () => onExpress(express4, holding),
  "Express 5": () => onExpress(express5, plain),
  "Express 5 with compression and sessions": () => onExpress(express5, holding),
  Fastify: () => onFastify(false),
  "Fastify with an onSend hook": () => onFastify(true),
};

describe.each(Object.entries(APPLICATIONS))("%s", (_, makeApp) => {
  test("however an application answers a denied request, the client gets one response, the application's own if it began in time, and the process continues", async () => {
    await fuzz(await makeApp());
  });
});
