import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { LoadShedder, LoadStatus, Priority, ShedRequest } from "@headgate/shed";
import { loadShedder, SHED_CHANNELS } from "@headgate/shed";
import express from "express";
import type { FastifyRequest } from "fastify";
import Fastify from "fastify";
import { Hono } from "hono";

const shed: LoadShedder = loadShedder({
  maxWait: "250ms",
  priority: (req) => (req.url === "/health" ? "critical" : "sheddable"),
  subject: ({ headers }) => headers["x-tenant"]?.toString(),
});

express().use(shed);
Fastify().register(shed.fastify);
new Hono().use(shed.hono);
createServer((req, res) => shed(req, res, () => res.end()));
createHttp2Server((req, res) => shed(req, res, () => res.end()));

const ofExpress = loadShedder({ subject: (req: express.Request) => req.ip });
express().use(ofExpress);
const ofFastify = loadShedder({ subject: (request: FastifyRequest) => request.ip });
void Fastify({ http2: true }).register(ofFastify.fastify);

const status: LoadStatus = shed.status();
void status.waiting.toFixed();
void shed.close();
export const channel: "headgate:shed:request" = SHED_CHANNELS.request;
export const priorityOf = (message: ShedRequest): Priority => message.priority;

// @ts-expect-error a priority that does not exist
loadShedder({ priority: () => "urgent" });
// @ts-expect-error a misspelt option
loadShedder({ maxWaits: "1s" });
