import headgate, { gcra } from "@headgate/fastify";
import type { FastifyBaseLogger } from "fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { useLosableRedis } from "../support/losable-redis.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { watchWarnings } from "../support/warnings.ts";
import { start } from "./start-fastify.ts";

const redis = useLosableRedis();

/** A log that cannot be written any more. */
function brokenLog(): FastifyBaseLogger {
  const fail = (): never => {
    throw new Error("no space left on device");
  };
  const quiet = (): void => {};
  const log = {
    level: "info",
    fatal: fail,
    error: fail,
    warn: fail,
    info: quiet,
    debug: quiet,
    trace: quiet,
    silent: quiet,
    child: () => log,
  };
  return log as FastifyBaseLogger;
}

test("a logger that throws fails no request, and the event becomes a process warning", async () => {
  const warnings = watchWarnings();
  const expectNothingUnhandled = watchUnhandled();
  const app = Fastify({ loggerInstance: brokenLog() });
  const limits = gcra({ limit: 1_000, window: "1h" });
  app.register(headgate, {
    name: "api",
    limits,
    store: await redis.openStore(),
    storeTimeout: "300ms",
  });
  app.get("/", async ({ rateLimit }) => ({ source: rateLimit?.source }));
  const sendRequest = await start(app);
  expect((await sendRequest("/")).json()).toEqual({ source: "store" });
  redis.lose();
  for (let i = 0; i < 3; i += 1) {
    const response = await sendRequest("/");
    expect(response.status).toBe(200);
    expect(response.json()).toEqual({ source: "local" });
  }
  await redis.restore();
  expect((await sendRequest("/")).json()).toEqual({ source: "store" });
  await expectNothingUnhandled();
  expect(warnings).toEqual([
    { code: "HEADGATE_STORE_DOWN", message: expect.stringContaining("the store is down") },
    { code: "HEADGATE_STORE_UP", message: expect.stringContaining("answers again") },
  ]);
});
