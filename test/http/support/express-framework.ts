import type { AddressInfo } from "node:net";
import { rateLimit } from "@headgate/express";
import type { Express, NextFunction, Request, RequestHandler, Response } from "express";
import express from "express";
import express4 from "express4";
import { onTestFinished } from "vitest";
import type { Framework, Route, SharedOptions, Site } from "./framework.ts";
import { describeError, listOf } from "./framework.ts";
import { closeAll, closing, listen } from "./listen.ts";
import { createHttpClient } from "./send-request.ts";
import { watchWarnings } from "./warnings.ts";

export const express4Framework: Framework = expressFramework("Express 4", express4);
export const express5Framework: Framework = expressFramework("Express 5", express);

/** Express: limiters are middleware, before all routes for the site and before the handler for a route. */
function expressFramework(name: string, makeApp: () => Express): Framework {
  return {
    name,

    async serve(site = {}) {
      const { limits, routes = { "/": {} }, before, ownErrorHandler = true } = site;
      const handled: string[] = [];
      const errors: Error[] = [];
      const made: { close(): Promise<void> }[] = [];
      onTestFinished(() => closeAll(made));
      const limited = (options: Site["limits"]) =>
        listOf(options).map((one) => {
          const middleware = rateLimit(optionsFor(one));
          made.push(middleware);
          return middleware as RequestHandler;
        });
      const app = makeApp();
      app.set("trust proxy", site.trustProxy ?? false);
      if (before !== undefined) app.use(hookOf(before));
      for (const middleware of limited(limits)) app.use(middleware);
      for (const [path, route] of Object.entries(routes)) {
        app.all(path, ...limited(route.limits), handlerOf(route, handled));
      }
      if (ownErrorHandler) {
        app.use((error: Error, _: Request, res: Response, next: NextFunction) => {
          errors.push(error);
          if (res.headersSent) return next(error);
          const { status, body } = describeError(error);
          res.status(status).json(body);
        });
      }
      const server = await listen(app, site.path);
      const { port = 0 } = (site.path === undefined ? server.address() : {}) as AddressInfo;
      const { sendRequest, end } = createHttpClient(
        site.path === undefined ? { port } : { path: site.path },
      );
      onTestFinished(end);
      const close = () => closeAll([...made, closing(server)]);
      return { port, handled, errors, warnings: watchWarnings(), sendRequest, close };
    },
  };
}

/** Runs for any middleware that may take its time; what it answered goes no further. */
function hookOf(before: NonNullable<Site["before"]>): RequestHandler {
  return (req, res, next) => {
    Promise.resolve(before(req, sendWith(res))).then(() => {
      if (!res.headersSent) next();
    }, next);
  };
}

function handlerOf(
  { handle = (request) => request.rateLimit ?? null }: Route,
  handled: string[],
): RequestHandler {
  return (req, res, next) => {
    handled.push(req.originalUrl);
    Promise.resolve(handle(req))
      .then((body) => res.json(body))
      .catch(next);
  };
}

function optionsFor({ onDenied, ...rest }: SharedOptions): Parameters<typeof rateLimit>[0] {
  if (typeof onDenied !== "function") return { ...rest, onDenied } as never;
  const ours = (req: Request, res: Response, decision: Parameters<typeof onDenied>[2]) =>
    onDenied(req, sendWith(res), decision);
  return { ...rest, onDenied: ours } as never;
}

function sendWith(res: Response) {
  return (status: number, body: string): void => {
    res.status(status).type("text/plain").send(body);
  };
}
