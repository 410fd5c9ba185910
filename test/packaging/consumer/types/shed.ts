import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import * as limitsOfExpress from "@headgate/express";
import * as limitsOfFastify from "@headgate/fastify";
import * as limitsOfHono from "@headgate/hono";
import type { KeyFunction, LoadShedder, LoadStatus, Priority, ShedRequest } from "@headgate/shed";
import { byHeader, byIp, combineKeys, loadShedder, SHED_CHANNELS } from "@headgate/shed";
import express from "express";
import type { FastifyRequest } from "fastify";
import Fastify from "fastify";
import type { Context } from "hono";
import { Hono } from "hono";

const shed: LoadShedder = loadShedder({
  maxWait: "250ms",
  priority: (req) => (req.url === "/health" ? "critical" : "sheddable"),
  subject: ({ headers }) => headers["x-tenant"]?.toString(),
});

express().use(shed);
Fastify().register(shed.fastify);
// @ts-expect-error Hono's functions get its context, which has no url
new Hono().use(shed.hono);
createServer((req, res) => shed(req, res, () => res.end()));
createHttp2Server((req, res) => shed(req, res, () => res.end()));

const ofExpress = loadShedder<express.Request>({ subject: (req) => req.get("x-tenant") });
express().use(ofExpress);
const ofFastify = loadShedder<FastifyRequest>({ subject: (request) => request.hostname });
void Fastify({ http2: true }).register(ofFastify.fastify);
const ofHono = loadShedder<Context>({
  priority: (c) => (c.req.path === "/health" ? "critical" : undefined),
  subject: (c, address) => c.req.header("x-tenant") ?? address,
});
new Hono().use(ofHono.hono);
new Hono().use(loadShedder<Context>().hono);

// One key for a limiter and a load shedder.
const limits = limitsOfExpress.gcra({ limit: 1, window: "1m" });
const tenantOfNode: KeyFunction = byHeader("x-tenant");
express().use(
  loadShedder({
    subject: tenantOfNode,
    priority: (req) => (req.url === "/" ? "critical" : "default"),
  }),
  limitsOfExpress.rateLimit({ limits, key: tenantOfNode }),
);
const userOfExpress: limitsOfExpress.KeyFunction<express.Request> = limitsOfExpress.combineKeys(
  limitsOfExpress.byIp(),
  (req) => req.params["user"],
);
express().use(
  loadShedder<express.Request>({ subject: userOfExpress }),
  limitsOfExpress.rateLimit({ limits, key: userOfExpress }),
);
const userOfFastify = limitsOfFastify.combineKeys(limitsOfFastify.byIp(), (request) => request.url);
void Fastify().register(loadShedder<FastifyRequest>({ subject: userOfFastify }).fastify);
const tenantOfHono = limitsOfHono.byHeader("x-tenant");
new Hono().use(
  loadShedder<Context>({ subject: tenantOfHono }).hono,
  limitsOfHono.rateLimit({ limits, key: tenantOfHono }),
);
loadShedder({ subject: combineKeys(byIp(), (request) => request.ip) });
// @ts-expect-error an object is no subject
loadShedder({ subject: () => ({ id: 7 }) });
// @ts-expect-error the key of another framework
loadShedder({ subject: tenantOfHono });

const status: LoadStatus = shed.status();
void status.waiting.toFixed();
void shed.close();
export const channel: "headgate:shed:request" = SHED_CHANNELS.request;
export const priorityOf = (message: ShedRequest): Priority => message.priority;

// @ts-expect-error a priority that does not exist
loadShedder({ priority: () => "urgent" });
// @ts-expect-error a misspelt option
loadShedder({ maxWaits: "1s" });
