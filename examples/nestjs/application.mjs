// The application. Decorators are written as calls here, because Node runs this file as it is; in TypeScript, with
// "experimentalDecorators", the same reads
//
//   @Get("search")
//   @RateLimit({ limits: gcra({ limit: 2, window: "1m" }) })
//   search() { ... }

import { byHeader, gcra, HeadgateModule, RateLimit, SkipRateLimit } from "@headgate/nestjs";
import { ApolloDriver } from "@nestjs/apollo";
import {
  Controller,
  Get,
  Module,
  NotFoundException,
  Req,
  UnauthorizedException,
} from "@nestjs/common";
import { GraphQLModule, Query, Resolver } from "@nestjs/graphql";

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
  /** @param {{ query: { of?: string } }} request */
  coupon({ query }) {
    if (query.of === "nobody") throw new NotFoundException("no coupon");
    return { coupon: query.of };
  }
  prices() {
    return { prices: [] };
  }
  health() {
    return { ok: true };
  }
}

Controller()(Pages);
Req()(Pages.prototype, "coupon", 0);
decorate(Pages, "home", Get());
decorate(Pages, "search", Get("search"), RateLimit({ limits: gcra({ limit: 2, window: "1m" }) }));
decorate(
  Pages,
  "report",
  Get("reports"),
  RateLimit({
    limits: gcra({ limit: 3, window: "1m" }),
    key: byHeader("x-api-key"),
    missingKey: "reject",
  }),
);
decorate(
  Pages,
  "account",
  Get("account"),
  RateLimit({
    limits: gcra({ limit: 3, window: "1m" }),
    key: (context) => {
      const { headers } = context.switchToHttp().getRequest();
      const customer = CUSTOMERS.get(String(headers["x-api-key"]));
      if (customer === undefined) throw new UnauthorizedException("no such key");
      return customer;
    },
  }),
);
decorate(
  Pages,
  "coupon",
  Get("coupon"),
  SkipRateLimit(),
  // Against guessing coupons: those that exist cost nothing.
  RateLimit({ limits: gcra({ limit: 3, window: "1m" }), count: "failed" }),
);
decorate(
  Pages,
  "prices",
  Get("prices"),
  // One a second: a client that asks more often waits its turn.
  RateLimit({ limits: gcra({ limit: 1, window: "1s" }), wait: "10s" }),
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
    HeadgateModule.forRoot({ limits: gcra({ limit: 5, window: "1m" }) }),
    GraphQLModule.forRoot({
      driver: ApolloDriver,
      typeDefs: "type Query { search(text: String!): String }",
      // Otherwise browsers get a page that is loaded from elsewhere.
      playground: false,
    }),
  ],
  controllers: [Pages],
  providers: [Searches],
})(Application);

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
