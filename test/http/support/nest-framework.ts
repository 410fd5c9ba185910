import "reflect-metadata";
import type { AddressInfo } from "node:net";
import type { RateLimitOptions } from "@headgate/nestjs";
import { HeadgateModule, RateLimit, RateLimitException, RateLimitFilter } from "@headgate/nestjs";
import type {
  ArgumentsHost,
  CanActivate,
  ExceptionFilter,
  ExecutionContext,
  INestApplication,
  Type,
} from "@nestjs/common";
import {
  All,
  Catch,
  Controller,
  Header,
  HttpCode,
  Module,
  NotFoundException,
  Req,
} from "@nestjs/common";
import { APP_FILTER, APP_GUARD, NestFactory } from "@nestjs/core";
import nest from "@nestjs/core/package.json" with { type: "json" };
import type { NestExpressApplication } from "@nestjs/platform-express";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import type { FastifyReply } from "fastify";
import { onTestFinished } from "vitest";
import type { AnyRequest, Framework, Route, Send, SharedOptions, Site } from "./framework.ts";
import { describeError, listOf } from "./framework.ts";
import { createHttpClient } from "./send-request.ts";
import { watchWarnings } from "./warnings.ts";

type Platform = "Express" | "Fastify";

/** The major version under test. */
export const NEST_MAJOR = Number.parseInt(nest.version, 10);

export const nestOnExpress: Framework = nestFramework("Express");
export const nestOnFastify: Framework = nestFramework("Fastify");

/** Nest: limiters are decorators, of a controller for the site and of a method for a route. A lone one is the module's. */
function nestFramework(platform: Platform): Framework {
  return {
    name: `Nest ${NEST_MAJOR} on ${platform}`,

    async serve(site = {}) {
      const { ownErrorHandler = true, path } = site;
      const handled: string[] = [];
      const errors: Error[] = [];
      // Nest makes the store ready before it listens.
      const warnings = watchWarnings();
      const app = await makeApp(platform, site, handled);
      onTestFinished(() => app.close());
      if (ownErrorHandler) app.useGlobalFilters(new Handler(errors));
      await listen(app, platform, path);
      const { port = 0 } = (path === undefined ? app.getHttpServer().address() : {}) as AddressInfo;
      const { sendRequest, end } = createHttpClient(path === undefined ? { port } : { path });
      onTestFinished(end);
      return { port, handled, errors, warnings, sendRequest, close: () => app.close() };
    },
  };
}

async function makeApp(
  platform: Platform,
  site: Site,
  handled: string[],
): Promise<INestApplication> {
  const { limits, routes = { "/": {} }, trustProxy = false } = site;
  const own = Object.values(routes).flatMap((route) => listOf(route.limits));
  const all = listOf(limits).map(optionsFor);
  const isLone = all.length === 1 && own.length === 0;
  class Site {}
  Module({
    imports: isLone ? [HeadgateModule.forRoot(all[0] as RateLimitOptions)] : [],
    controllers: [controllerOf(platform, routes, isLone ? [] : all, handled)],
    providers: [
      { provide: APP_GUARD, useValue: new First(site.before) },
      { provide: APP_FILTER, useClass: RateLimitFilter },
    ],
  })(Site);
  const options = { logger: false, abortOnError: false, forceCloseConnections: true } as const;
  if (platform === "Fastify") {
    const adapter = new FastifyAdapter({
      trustProxy: trustProxy as never,
      forceCloseConnections: true,
    });
    return NestFactory.create(Site, adapter as never, options);
  }
  const app = await NestFactory.create<NestExpressApplication>(Site, new ExpressAdapter(), options);
  app.set("trust proxy", trustProxy);
  return app;
}

async function listen(app: INestApplication, platform: Platform, path?: string): Promise<void> {
  if (platform === "Express")
    await (path === undefined ? app.listen(0, "127.0.0.1") : app.listen(path));
  else await app.listen((path === undefined ? { host: "127.0.0.1", port: 0 } : { path }) as never);
}

function controllerOf(
  platform: Platform,
  routes: Readonly<Record<string, Route>>,
  limits: readonly RateLimitOptions[],
  handled: string[],
): Type {
  class Pages {}
  const add = (name: string, path: string, handler: unknown, of: Site["limits"]): void => {
    Object.defineProperty(Pages.prototype, name, { value: handler, configurable: true });
    const descriptor = Object.getOwnPropertyDescriptor(Pages.prototype, name) as PropertyDescriptor;
    Req()(Pages.prototype, name, 0);
    const decorators = [All(path), HttpCode(200), Header("content-type", "application/json")];
    for (const decorate of decorators) decorate(Pages.prototype, name, descriptor);
    for (const one of listOf(of)) RateLimit(optionsFor(one))(Pages.prototype, name, descriptor);
  };
  for (const [i, [path, route]] of Object.entries(routes).entries()) {
    add(`page${i}`, path, handlerOf(route, handled), route.limits);
  }
  // Nest limits only routes that exist.
  add(
    "none",
    platform === "Express" && NEST_MAJOR > 10 ? "/{*path}" : "*",
    () => {
      throw new NotFoundException();
    },
    [],
  );
  for (const one of limits) RateLimit(one)(Pages);
  Controller()(Pages);
  return Pages;
}

function handlerOf({ handle = (request) => request.rateLimit ?? null }: Route, handled: string[]) {
  return async (request: AnyRequest): Promise<string> => {
    handled.push(request.originalUrl);
    return JSON.stringify(await handle(request));
  };
}

/** Gives a context what the tests read from a request, and runs what comes before the limiters. */
class First implements CanActivate {
  readonly #before: Site["before"];

  constructor(before: Site["before"]) {
    this.#before = before;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest();
    for (const name of ["headers", "socket", "url", "method", "raw", "ip", "query", "rateLimit"]) {
      // Of Fastify alone.
      if (name === "raw" && request.raw === undefined) continue;
      Object.defineProperty(context, name, { get: () => request[name], configurable: true });
    }
    let isAnswered = false;
    const send = sendOn(context.switchToHttp().getResponse());
    await this.#before?.(context as never, (status, body) => {
      isAnswered = true;
      send(status, body);
    });
    return isAnswered ? new Promise(() => {}) : true;
  }
}

function sendOn(reply: FastifyReply): Send {
  // Express's `status` and `type` mean the same.
  return (status, body) => void reply.status(status).type("text/plain").send(body);
}

function optionsFor({ onDenied, ...rest }: SharedOptions): RateLimitOptions {
  if (typeof onDenied !== "function") return { ...rest, onDenied } as never;
  const ours = (context: ExecutionContext, decision: Parameters<typeof onDenied>[2]) =>
    onDenied(context as never, sendOn(context.switchToHttp().getResponse()), decision);
  return { ...rest, onDenied: ours } as never;
}

/** The application's own handler of errors, which leaves denials to Headgate's. */
class Handler implements ExceptionFilter {
  readonly #errors: Error[];

  constructor(errors: Error[]) {
    this.#errors = errors;
  }

  catch(error: Error, host: ArgumentsHost): unknown {
    if (error instanceof RateLimitException) return new RateLimitFilter().catch(error, host);
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (!(error instanceof NotFoundException)) this.#errors.push(error);
    const { status, body } = describeError(error);
    const isSent = (reply as { headersSent?: boolean }).headersSent ?? reply.raw.headersSent;
    return isSent ? undefined : reply.status(status).send(body);
  }
}
Catch()(Handler);
