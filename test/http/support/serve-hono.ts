import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { onTestFinished } from "vitest";
import { listen } from "./listen.ts";
import type { SendRequest } from "./send-request.ts";
import { createHttpClient } from "./send-request.ts";

/** Serves an application on Node until the test ends. */
export async function serveHono(app: Hono): Promise<SendRequest> {
  const answer = getRequestListener(app.fetch);
  const server = await listen((req, res) => void answer(req, res));
  const { sendRequest, end } = createHttpClient(server.address() as AddressInfo);
  onTestFinished(end);
  return sendRequest;
}
