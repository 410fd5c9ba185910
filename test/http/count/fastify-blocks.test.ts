import { setImmediate } from "node:timers/promises";
import { fixedWindow, gcra } from "@headgate/core";
import headgate from "@headgate/fastify";
import Fastify from "fastify";
import { describe, expect, test } from "vitest";
import { start } from "../fastify/start-fastify.ts";

const guarded = fixedWindow({ limit: 2, window: "1h", block: "1m" });
const smaller = { ...guarded, limit: 1 };

/** An application whose every route fails, except for a right login. */
async function open(options: object, routes: Readonly<Record<string, object>>) {
  const app = Fastify();
  await app.register(headgate, options as never);
  for (const [path, rateLimit] of Object.entries(routes)) {
    app.get(path, { config: { rateLimit } }, async (request, reply) =>
      reply.code(Object.hasOwn(request.query as object, "right") ? 200 : 401).send("over"),
    );
  }
  const sendRequest = await start(app);
  const ways = async (path: string, count: number) => {
    const seen: unknown[] = [];
    for (let i = 0; i < count; i += 1) {
      const { status, headers } = await sendRequest(path);
      // A client may have read an answer before its server is told that it was sent.
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
      seen.push(status === 429 ? Number(headers["retry-after"]) <= 60 : status);
    }
    return seen;
  };
  return { app, ways };
}

describe("a route inherits count with blocks", () => {
  test("a route blocks by the inherited count, with its own limits and with the plugin's", async () => {
    const { ways } = await open(
      { limits: guarded, count: "failed" },
      { "/own": { limits: smaller }, "/all": { limits: smaller, count: "all" }, "/plugin": {} },
    );
    expect(await ways("/own?right", 3)).toEqual([200, 200, 200]);
    expect(await ways("/own", 2)).toEqual([401, true]);
    // Where all answers count, denials block.
    expect(await ways("/all?right", 2)).toEqual([200, true]);
    expect(await ways("/plugin?right", 3)).toEqual([200, 200, 200]);
    expect(await ways("/plugin", 3)).toEqual([401, 401, true]);
  });

  test('a route with count: "all" confirms every charge of the plugin\'s limiter', async () => {
    const routes = { "/all": { count: "all" } };
    const { ways } = await open({ limits: guarded, count: "failed" }, routes);
    expect(await ways("/all?right", 3)).toEqual([200, 200, true]);
  });

  test("a route in shadow mode counts with the plugin, and blocks no client", async () => {
    const routes = { "/shadow": { shadow: true }, "/plugin": {} };
    const { ways } = await open({ name: "login", limits: guarded, count: "failed" }, routes);
    expect(await ways("/shadow", 3)).toEqual([401, 401, 401]);
    expect(await ways("/plugin", 1)).toEqual([false]);
  });

  test("a route with extend blocks in one decision with the plugin", async () => {
    const limits = gcra({ limit: 50, window: "1m" });
    const routes = { "/both": { limits, extend: true } };
    const { ways } = await open({ limits: guarded, count: "failed" }, routes);
    expect(await ways("/both?right", 3)).toEqual([200, 200, 200]);
    expect(await ways("/both", 3)).toEqual([401, 401, true]);
  });
});

test.each([
  ["its own count", { "/": { count: "failed" } }],
  [
    "limits beside the plugin's",
    { "/": { limits: gcra({ limit: 9, window: "1m" }), extend: true, count: "failed" } },
  ],
])("a route cannot have %s if denials of the plugin's limits block", async (_, routes) => {
  await expect(open({ limits: guarded }, routes)).rejects.toMatchObject({
    code: "HEADGATE_INVALID_OPTION",
    message: expect.stringContaining("Give count together with limits"),
  });
});
