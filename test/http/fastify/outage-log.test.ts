import headgate, { gcra } from "@headgate/fastify";
import type { FastifyInstance } from "fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import { useLosableRedis } from "../support/losable-redis.ts";
import { watchWarnings } from "../support/warnings.ts";
import { start } from "./start-fastify.ts";

const limits = gcra({ limit: 1_000, window: "1h" });
const redis = useLosableRedis();

/** Longer than the default, for a machine that does other things as well. */
const storeTimeout = "300ms";

const ERROR = 50;
const WARN = 40;

interface Line {
  readonly level: number;
  readonly code?: string;
  readonly msg: string;
  readonly err?: { readonly code: string; readonly message: string };
}

/** An application whose log is read. */
function logging(): { app: FastifyInstance; lines: Line[] } {
  const lines: Line[] = [];
  const stream = {
    write(line: string) {
      const read = JSON.parse(line) as Line;
      if (read.code?.startsWith("HEADGATE")) lines.push(read);
    },
  };
  return { app: Fastify({ logger: { level: "info", stream } }), lines };
}

test("two plugins on one server log an outage once, in the application's log and not as a process warning", async () => {
  const warnings = watchWarnings();
  const store = await redis.openStore();
  const { app, lines } = logging();
  app.register(headgate, { name: "outer", limits, store, storeTimeout });
  app.register(async (scope) => {
    scope.register(headgate, { name: "inner", limits, store, storeTimeout });
    scope.get("/", { config: { rateLimit: { limits } } }, async () => "ok");
  });
  const sendRequest = await start(app);
  await sendRequest();
  redis.lose();
  for (let i = 0; i < 3; i += 1) await sendRequest();
  await redis.restore();
  await sendRequest();
  expect(lines).toMatchObject([
    {
      level: ERROR,
      code: "HEADGATE_STORE_DOWN",
      msg: expect.stringContaining("no answer within 300 ms"),
      err: { code: "HEADGATE_STORE_UNAVAILABLE" },
    },
    { level: WARN, code: "HEADGATE_STORE_UP" },
  ]);
  await new Promise(setImmediate);
  expect(warnings).toEqual([]);
});

test("two servers with one client each log an outage in their own log", async () => {
  const store = await redis.openStore();
  const [first, second] = [logging(), logging()];
  const asks = [];
  for (const { app } of [first, second]) {
    app.register(headgate, { name: "api", limits, store });
    app.get("/", async () => "ok");
    asks.push(await start(app));
  }
  redis.lose();
  for (const sendRequest of asks) await sendRequest();
  for (const { lines } of [first, second]) {
    expect(lines.map(({ code }) => code)).toEqual(["HEADGATE_STORE_DOWN"]);
  }
});

test("the log of a closed application gets no events", async () => {
  const warnings = watchWarnings();
  const store = await redis.openStore();
  const [closed, open] = [logging(), logging()];
  for (const { app } of [closed, open]) {
    app.register(headgate, { name: "api", limits, store });
    app.get("/", async () => "ok");
  }
  const [askClosed, askOpen] = [await start(closed.app), await start(open.app)];
  redis.lose();
  await askClosed();
  await closed.app.close();
  await askOpen();
  await redis.restore();
  await waitUntil("the open one is logged", 5_000, () => open.lines[1]);
  expect(open.lines.map(({ code }) => code)).toEqual(["HEADGATE_STORE_DOWN", "HEADGATE_STORE_UP"]);
  expect(closed.lines.map(({ code }) => code)).toEqual(["HEADGATE_STORE_DOWN"]);
  expect(warnings).toEqual([]);
});
