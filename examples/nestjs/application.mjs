// The application. Decorators are written as calls here, because Node runs this file as it is; in TypeScript, with
// "experimentalDecorators", the same reads
//
//   @Get("search")
//   @RateLimit({ limits: gcra({ limit: 2, window: "1m" }) })
//   search() { ... }

import { gcra } from "@headgate/core";
import { byHeader } from "@headgate/core/http";
import { ApolloDriver } from "@nestjs/apollo";
import { Controller, Get, Module, UnauthorizedException } from "@nestjs/common";
import { APP_FILTER, APP_GUARD } from "@nestjs/core";
import { GraphQLModule, Query, Resolver } from "@nestjs/graphql";
import { RateLimit, RejectedFilter, rateLimitGuard, SkipRateLimit } from "./rate-limit.mjs";

/** Yours would be in a database. */
const CUSTOMERS = new Map([["ada-key", "ada"]]);

class Pages {
  home() {
    return { hello: "world" };
  }
  search() {
    return { found: [] };
  }
  report() {
    return { report: "all is well" };
  }
  account() {
    return { account: "ada" };
  }
  health() {
    return { ok: true };
  }
}

Controller()(Pages);
decorate(Pages, "home", Get());
decorate(Pages, "search", Get("search"), RateLimit({ limits: gcra({ limit: 2, window: "1m" }) }));
decorate(
  Pages,
  "report",
  Get("reports"),
  RateLimit({
    limits: gcra({ limit: 3, window: "1m" }),
    key: byHeader("x-api-key"),
    missing: "reject",
  }),
);
decorate(
  Pages,
  "account",
  Get("account"),
  RateLimit({
    limits: gcra({ limit: 3, window: "1m" }),
    key: ({ headers }) => {
      const customer = CUSTOMERS.get(String(headers["x-api-key"]));
      if (customer === undefined) throw new UnauthorizedException("no such key");
      return customer;
    },
  }),
);
decorate(Pages, "health", Get("health"), SkipRateLimit());

class Searches {
  /**
   * @param {unknown} _
   * @param {{ text: string }} args
   */
  search(_, { text }) {
    return `nothing about ${text}`;
  }
}

Resolver()(Searches);
decorate(
  Searches,
  "search",
  Query("search"),
  RateLimit({ limits: gcra({ limit: 2, window: "1m" }) }),
);

export class Application {}

Module({
  imports: [
    GraphQLModule.forRoot({
      driver: ApolloDriver,
      typeDefs: "type Query { search(text: String!): String }",
      // Otherwise browsers get a page that is loaded from elsewhere.
      playground: false,
    }),
  ],
  controllers: [Pages],
  providers: [
    Searches,
    { provide: APP_FILTER, useClass: RejectedFilter },
    {
      provide: APP_GUARD,
      useClass: rateLimitGuard({ limits: gcra({ limit: 5, window: "1m" }) }),
    },
  ],
})(Application);

/**
 * What TypeScript makes of decorators above a method.
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
