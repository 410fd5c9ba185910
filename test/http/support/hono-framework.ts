import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { RateLimitOptions } from "@headgate/hono";
import { rateLimit } from "@headgate/hono";
import type { HttpBindings } from "@hono/node-server";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import type { Context, MiddlewareHandler } from "hono";
import { Hono } from "hono";
import { onTestFinished } from "vitest";
import { deferred } from "./deferred.ts";
import type { AnyRequest, Framework, Route, Send, SharedOptions, Site } from "./framework.ts";
import { describeError, listOf } from "./framework.ts";
import { closeAll, closing, listen } from "./listen.ts";
import { createHttpClient } from "./send-request.ts";
import { watchWarnings } from "./warnings.ts";

type NodeContext = Context<{ Bindings: HttpBindings }>;

/** Hono on Node: limiters are middleware, before all routes for the site and before the handler for a route. */
export const honoFramework: Framework = {
  name: "Hono",
  trustsProxies: false,
  returnsAnswers: true,

  async serve(site = {}) {
    const { limits, routes = { "/": {} }, before, ownErrorHandler = true } = site;
    const handled: string[] = [];
    const errors: Error[] = [];
    const made: { close(): Promise<void> }[] = [];
    onTestFinished(() => closeAll(made));
    const limited = (options: Site["limits"]) =>
      listOf(options).map((one) => {
        const middleware = rateLimit({ ...optionsFor(one), ...trusting(site) } as never);
        made.push(middleware);
        return middleware as MiddlewareHandler;
      });
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.use((c, next) => {
      likeNode(c, trusting(site));
      return next();
    });
    if (before !== undefined) app.use(hookOf(before));
    for (const middleware of limited(limits)) app.use(middleware);
    for (const [path, route] of Object.entries(routes)) {
      for (const middleware of limited(route.limits)) app.all(path, middleware);
      app.all(path, async (c) => {
        handled.push(c.env.incoming.url as string);
        return c.json((await handlerOf(route)(c)) as object);
      });
    }
    if (ownErrorHandler) {
      app.onError((error, c) => {
        errors.push(error);
        const { status, body } = describeError(error);
        return c.json(body, status as 500);
      });
    }
    const server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server, site.path);
    const { port = 0 } = (site.path === undefined ? server.address() : {}) as AddressInfo;
    const { sendRequest, end } = createHttpClient(
      site.path === undefined ? { port } : { path: site.path },
    );
    onTestFinished(end);
    const close = () => closeAll([...made, closing(server)]);
    return { port, handled, errors, warnings: watchWarnings(), sendRequest, close };
  },
};

/** Hono itself trusts no proxy: an application that does reads the address itself, here as Express would. */
function trusting({ trustProxy }: Site): Pick<RateLimitOptions, "getConnInfo"> {
  if (trustProxy === undefined || trustProxy === false) return {};
  const trust = express().set("trust proxy", trustProxy).get("trust proxy fn");
  return {
    getConnInfo(c) {
      const { headers, socket } = (c as NodeContext).env.incoming;
      const hops = String(headers["x-forwarded-for"] ?? "")
        .split(",")
        .map((hop) => hop.trim());
      let address = socket.remoteAddress ?? "";
      for (const [hop, next] of hops.reverse().entries()) {
        if (next === "" || !trust(address, hop)) break;
        address = next;
      }
      return { remote: { address: address as string } };
    },
  };
}

/** Gives a context what the tests read from a request, whichever framework it comes from. */
function likeNode(c: NodeContext, { getConnInfo }: ReturnType<typeof trusting>): void {
  const { incoming } = c.env;
  const { headers, socket, url, method } = incoming as IncomingMessage;
  Object.defineProperties(c, {
    ...Object.fromEntries(
      Object.entries({ headers, socket, url, method, raw: incoming }).map(([name, value]) => [
        name,
        { value },
      ]),
    ),
    ip: { get: () => getConnInfo?.(c).remote.address ?? socket.remoteAddress },
    rateLimit: { get: () => c.get("rateLimit") },
  });
}

function asRequest(c: Context): AnyRequest {
  return c as unknown as AnyRequest;
}

function handlerOf({
  handle = (request) => request.rateLimit ?? null,
}: Route): (c: Context) => unknown {
  return (c) => handle(asRequest(c));
}

/** Runs for any middleware that may take its time; what it answered goes no further. */
function hookOf(before: NonNullable<Site["before"]>): MiddlewareHandler {
  return async (c, next) => {
    let answer: Response | undefined;
    const { promise: answered, resolve } = deferred<Response>();
    await before(asRequest(c), (status, body) => {
      answer = c.text(body, status as 200);
      resolve(answer);
    });
    return answer ?? ((await Promise.race([next(), answered])) as Response | undefined);
  };
}

function optionsFor({ onDenied, ...rest }: SharedOptions): Parameters<typeof rateLimit>[0] {
  if (typeof onDenied !== "function") return { ...rest, onDenied } as never;
  const ours = async (c: Context, decision: Parameters<typeof onDenied>[2]) => {
    let answer: Response | undefined;
    const send: Send = (status, body) => {
      answer = c.text(body, status as 429);
    };
    const result = await onDenied(asRequest(c), send, decision);
    return answer ?? result;
  };
  return { ...rest, onDenied: ours } as never;
}
