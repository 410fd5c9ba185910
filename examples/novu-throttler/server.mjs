// An API with limits by category and plan, on Nest: a bulk request costs five units.
//
//   npx -y pnpm@10.34.9 build
//   node examples/novu-throttler/server.mjs              (DRY_RUN=1 denies nothing)
//   curl -i -X POST http://localhost:3000/v1/events/trigger/bulk -H "x-api-key: free-key"     (twice)

import "reflect-metadata";
import { HeadgateModule, RateLimitCost } from "@headgate/nestjs";
import { Controller, Get, Module, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { BULK, ThrottlerCategory, throttling } from "./throttler.mjs";

class Events {
  trigger() {
    return { triggered: 1 };
  }
  triggerBulk() {
    return { triggered: 100 };
  }
}
Controller("v1/events")(Events);
ThrottlerCategory("trigger")(Events);
decorate(Events, "trigger", Post("trigger"));
decorate(Events, "triggerBulk", Post("trigger/bulk"), RateLimitCost(BULK));

class Subscribers {
  list() {
    return { data: [] };
  }
}
Controller("v1/subscribers")(Subscribers);
decorate(Subscribers, "list", Get());

class Application {}
Module({
  imports: [HeadgateModule.forRoot(throttling({ dryRun: process.env["DRY_RUN"] === "1" }))],
  controllers: [Events, Subscribers],
})(Application);

const app = await NestFactory.create(Application, { logger: ["error", "warn"] });
app.enableShutdownHooks();
await app.listen(Number(process.env["PORT"] ?? 3000));
const { port } = /** @type {import("node:net").AddressInfo} */ (app.getHttpServer().address());
console.log(`listening on http://127.0.0.1:${port}`);

/**
 * The compiled form of decorators above a method.
 *
 * @param {{ prototype: object }} target
 * @param {string} method
 * @param {MethodDecorator[]} decorators
 */
function decorate({ prototype }, method, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method);
  if (descriptor === undefined) throw new Error(`there is no method ${method}`);
  for (const decorator of decorators.reverse()) decorator(prototype, method, descriptor);
}
