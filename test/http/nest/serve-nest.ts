import "reflect-metadata";
import type {
  DynamicModule,
  ExceptionFilter,
  INestApplication,
  Provider,
  Type,
} from "@nestjs/common";
import { Controller, Get, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { onTestFinished } from "vitest";
import type { SendRequest } from "../support/send-request.ts";
import { createHttpClient } from "../support/send-request.ts";

export const PLATFORMS = ["Express", "Fastify"] as const;

type Decorator = MethodDecorator & ClassDecorator;

/** What TypeScript makes of a controller with decorators: methods by their names, each a route of that path. */
export function controller(
  methods: Readonly<Record<string, readonly unknown[]>>,
  ...ofClass: readonly ClassDecorator[]
): Type {
  class Pages {}
  for (const [name, decorators] of Object.entries(methods)) {
    const value = (): string => name;
    Object.defineProperty(value, "name", { value: name });
    Object.defineProperty(Pages.prototype, name, { value, configurable: true });
    const descriptor = Object.getOwnPropertyDescriptor(Pages.prototype, name) as PropertyDescriptor;
    for (const one of [Get(name), ...decorators]) {
      (one as Decorator)(Pages.prototype, name, descriptor);
    }
  }
  for (const decorate of [Controller(), ...ofClass]) decorate(Pages);
  return Pages;
}

/** Decorates a method as TypeScript does, the last decorator first. */
export function decorate(
  { prototype }: Type,
  method: string,
  ...decorators: readonly MethodDecorator[]
): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method) as PropertyDescriptor;
  for (const one of decorators.toReversed()) one(prototype, method, descriptor);
}

interface Parts {
  readonly imports?: readonly (DynamicModule | Type)[];
  readonly controllers?: readonly Type[];
  readonly providers?: readonly Provider[];
  readonly filters?: readonly ExceptionFilter[];
}

export async function makeNest(
  { imports = [], controllers = [], providers = [] }: Parts,
  platform: (typeof PLATFORMS)[number] = "Express",
): Promise<INestApplication> {
  class Application {}
  Module({ imports: [...imports], controllers: [...controllers], providers: [...providers] })(
    Application,
  );
  const options = { logger: false, abortOnError: false, forceCloseConnections: true } as const;
  const app = await (platform === "Express"
    ? NestFactory.create(Application, options)
    : NestFactory.create(Application, new FastifyAdapter() as never, options));
  return app;
}

/** Serves an application until the test ends. */
export async function serveNest(
  parts: Parts,
  platform?: (typeof PLATFORMS)[number],
): Promise<{ readonly app: INestApplication; readonly sendRequest: SendRequest }> {
  const app = await makeNest(parts, platform);
  app.useGlobalFilters(...(parts.filters ?? []));
  onTestFinished(() => app.close());
  await app.listen(0, "127.0.0.1");
  const { sendRequest, end } = createHttpClient(app.getHttpServer().address());
  onTestFinished(end);
  return { app, sendRequest };
}
