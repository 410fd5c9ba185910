import "reflect-metadata";
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { LoadShedder, NodeRequest } from "@headgate/shed";
import type { HttpBindings } from "@hono/node-server";
import { createAdaptorServer } from "@hono/node-server";
import { All, Controller, Module, Req } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import type { NestFastifyApplication } from "@nestjs/platform-fastify";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import type { Express } from "express";
import express from "express";
import express4 from "express4";
import Fastify from "fastify";
import type { Context } from "hono";
import { Hono } from "hono";
import { onTestFinished } from "vitest";

/** What the applications under test answer with: called with the path and the body. */
export type Handler = (path: string, body: string) => Promise<string> | string;

/** The value of the header `x-context`, in the async context of a request that an earlier middleware has entered. */
export const context = new AsyncLocalStorage<string>();

/** What the functions in the options get: the request of Node or of a framework that extends it, in Hono the context. */
export type ServedRequest = NodeRequest | Context;

export const pathOf = (request: ServedRequest): string =>
  "finalized" in request ? request.req.path : String(request.url);

type Shed = LoadShedder<ServedRequest>;

type Serve = (shed: Shed, handle: Handler) => Promise<string>;

const contextOf = ({ headers }: IncomingMessage): string => String(headers["x-context"]);

async function expressApp(app: Express, shed: Shed, handle: Handler): Promise<string> {
  app.use((req, _res, next) => context.run(contextOf(req), next));
  app.use(shed);
  app.use(express.text());
  app.use(async (req, res) => {
    res.send(await handle(req.path, typeof req.body === "string" ? req.body : ""));
  });
  return listen(createServer(app));
}

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return urlOf(server);
}

function urlOf(server: { address(): AddressInfo | string | null }): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function nestApp(
  adapter: ExpressAdapter | FastifyAdapter,
  shed: Shed,
  handle: Handler,
): Promise<string> {
  class Site {
    handle({ url, body }: { readonly url: string; readonly body: unknown }) {
      return handle(url, typeof body === "string" ? body : "");
    }
  }
  Controller()(Site);
  Req()(Site.prototype, "handle", 0);
  All(["/", "/held", "/echo", "/late"])(
    Site.prototype,
    "handle",
    Object.getOwnPropertyDescriptor(Site.prototype, "handle") ?? {},
  );
  class App {}
  Module({ controllers: [Site] })(App);
  const app = await NestFactory.create(App, adapter, { logger: false });
  onTestFinished(() => app.close());
  app.use((req: IncomingMessage, _res: ServerResponse, next: () => void) =>
    context.run(contextOf(req), next),
  );
  if (adapter instanceof ExpressAdapter) app.use(shed, express.text());
  else (app as NestFastifyApplication).use(shed);
  await app.listen(0, "127.0.0.1");
  return urlOf(app.getHttpServer());
}

/** Serves an application with a load shedder until the test ends; resolves with its URL. */
export const SERVERS: Readonly<Record<string, Serve>> = {
  "node:http": (shed, handle) => {
    const server = createServer((req, res) => {
      context.run(contextOf(req), () =>
        shed(req, res, async (error) => {
          res.statusCode = error === undefined ? 200 : 500;
          res.end(error === undefined ? await handle(String(req.url), await text(req)) : "");
        }),
      );
    });
    return listen(server);
  },

  "Express 4": (shed, handle) => expressApp(express4(), shed, handle),
  "Express 5": (shed, handle) => expressApp(express(), shed, handle),

  async "Fastify 5"(shed, handle) {
    const app = Fastify({ forceCloseConnections: true });
    onTestFinished(() => app.close());
    app.addHook("onRequest", (request, _reply, done) => context.run(contextOf(request.raw), done));
    await app.register(shed.fastify);
    app.all("/*", (request) => handle(request.url, String(request.body ?? "")));
    return app.listen({ port: 0, host: "127.0.0.1" });
  },

  Hono(shed, handle) {
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.use((c, next) => context.run(contextOf(c.env.incoming), next));
    app.use(shed.hono);
    app.all("*", async (c) => c.text(await handle(c.req.path, await c.req.text())));
    return listen(createAdaptorServer(app) as ReturnType<typeof createServer>);
  },

  "Nest on Express": (shed, handle) => nestApp(new ExpressAdapter(), shed, handle),
  "Nest on Fastify": (shed, handle) => nestApp(new FastifyAdapter(), shed, handle),
};
