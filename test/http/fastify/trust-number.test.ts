import headgate, { gcra } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { start } from "./start-fastify.ts";

test("a number for trustProxy that Fastify ignores counts all clients as one, without a warning", async () => {
  const warnings: string[] = [];
  const stream = { write: (line: string) => warnings.push(JSON.parse(line).code) };
  const app = Fastify({ trustProxy: 1 as never, logger: { level: "warn", stream } });
  app.register(headgate, { limits: gcra({ limit: 1, window: "1h" }) });
  app.get("/", async ({ ip }) => ip);
  const sendRequest = await start(app);
  const from = (forwarded: string) =>
    sendRequest("/", { headers: { "x-forwarded-for": forwarded } });
  const { text } = await from("198.51.100.1, 203.0.113.1");
  // A Fastify that heeds it forwards the address; one that does not is reported.
  const expected = text === "203.0.113.1" ? [] : ["HEADGATE_PROXY_NOT_TRUSTED"];
  await from("203.0.113.2");
  expect(warnings).toEqual(expected);
});
