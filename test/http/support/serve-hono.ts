import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { onTestFinished } from "vitest";
import type { Ask } from "./ask.ts";
import { askAt } from "./ask.ts";
import { listen } from "./listen.ts";

/** Serves an application on Node until the test ends. */
export async function serveHono(app: Hono): Promise<Ask> {
  const answer = getRequestListener(app.fetch);
  const server = await listen((req, res) => void answer(req, res));
  const { ask, end } = askAt(server.address() as AddressInfo);
  onTestFinished(end);
  return ask;
}
