import "reflect-metadata";
import { HeadgateModule } from "@headgate/nestjs";
import { Controller, Get, Module } from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import { ThrottlerGuard, ThrottlerModule } from "@nestjs/throttler";
import { sendConstants } from "./constants.mjs";
import { headgateOptions, WINDOW_MS } from "./policy.mjs";

/** @nestjs/throttler has no headers of the draft: both send the three of X-RateLimit. */
const HEADERS = { standard: false };

/** What each variant adds to the module of the application. */
const ADDITIONS = {
  bare: () => ({}),
  constants: () => ({}),
  "Headgate, memory": limitWithHeadgate,
  "Headgate, Redis": limitWithHeadgate,
  "@nestjs/throttler, memory": ({ limit }) => ({
    imports: [ThrottlerModule.forRoot({ throttlers: [{ limit, ttl: WINDOW_MS }] })],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  }),
};

export const VARIANTS = Object.keys(ADDITIONS);

function limitWithHeadgate(setup) {
  return { imports: [HeadgateModule.forRoot({ ...headgateOptions(setup), headers: HEADERS })] };
}

class Pages {
  hello() {
    return { hello: "world" };
  }
}
// Without a compiler, decorators are called.
Get("/")(Pages.prototype, "hello", Object.getOwnPropertyDescriptor(Pages.prototype, "hello"));
Controller()(Pages);

/** Resolves with the port. */
export async function serve(setup) {
  class Application {}
  Module({ controllers: [Pages], ...ADDITIONS[setup.variant](setup) })(Application);
  const app = await NestFactory.create(Application, { logger: false });
  if (setup.variant === "constants") app.use(sendConstants(setup.constants));
  await app.listen(0, "127.0.0.1");
  return app.getHttpServer().address().port;
}
