import { fc } from "@fast-check/vitest";
import type { Limiter } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import { rateLimit as honoRateLimit } from "@headgate/hono";
import { RateLimit, RateLimitFilter } from "@headgate/nestjs";
import type { CanActivate, ExecutionContext } from "@nestjs/common";
import { UseGuards } from "@nestjs/common";
import { APP_FILTER } from "@nestjs/core";
import type { Request, RequestHandler } from "express";
import express5 from "express";
import express4 from "express4";
import type { FastifyRequest } from "fastify";
import Fastify from "fastify";
import type { Context } from "hono";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { start } from "./fastify/start-fastify.ts";
import { controller, PLATFORMS, serveNest } from "./nest/serve-nest.ts";
import { listen } from "./support/listen.ts";
import type { SendRequest } from "./support/send-request.ts";
import { createHttpClient } from "./support/send-request.ts";
import { serveHono } from "./support/serve-hono.ts";

/** So many sites of each framework. */
const RUNS = process.env["HEADGATE_LONG"] === "1" ? 1_000 : 25;

const DIMENSIONS = ["ip", "user", "global"] as const;

type Dimension = (typeof DIMENSIONS)[number];

/** A limiter, by the units it has for each subject of the dimensions that it counts by. */
type Budgets = Readonly<Record<Dimension, number | undefined>>;

interface Mount {
  /** Which of the limiters. */
  readonly limiter: number;
  /** Whether it is asked before it is known whose request it is, or after. */
  readonly isEarly: boolean;
}

interface Site {
  readonly limiters: readonly Budgets[];
  readonly mounts: readonly Mount[];
  /** Whose request each is; undefined for nobody's that is known. */
  readonly users: readonly (string | undefined)[];
}

const budgets: fc.Arbitrary<Budgets> = fc
  .record({
    ip: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    user: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    global: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  })
  .filter((units) => DIMENSIONS.some((dimension) => units[dimension] !== undefined));

const sites: fc.Arbitrary<Site> = fc.record({
  limiters: fc.array(budgets, { minLength: 1, maxLength: 2 }),
  mounts: fc
    .array(fc.record({ limiter: fc.nat(1), isEarly: fc.boolean() }), { minLength: 1, maxLength: 5 })
    .map((mounts) => mounts.toSorted((a, b) => Number(b.isEarly) - Number(a.isEarly))),
  users: fc.array(fc.constantFrom("ann", "bob", undefined), { minLength: 12, maxLength: 12 }),
});

/** What every request of a site is answered with: each dimension is asked at the first mount where its subject is known. */
function expectedOf({ limiters, mounts, users }: Site): number[] {
  const spent = new Map<string, number>();
  return users.map((user) => {
    const asked = new Set<string>();
    for (const mount of mounts) {
      const limiter = mount.limiter % limiters.length;
      const subjects = { ip: "here", user: mount.isEarly ? undefined : user, global: "*" };
      const counted = DIMENSIONS.filter(
        (dimension) =>
          limiters[limiter]?.[dimension] !== undefined &&
          subjects[dimension] !== undefined &&
          !asked.has(`${limiter} ${dimension}`),
      );
      const keys = counted.map((dimension) => `${limiter} ${dimension} ${subjects[dimension]}`);
      const isDenied = counted.some(
        (dimension, i) =>
          (spent.get(keys[i] as string) ?? 0) >= (limiters[limiter]?.[dimension] as number),
      );
      if (isDenied) return 429;
      for (const key of keys) spent.set(key, (spent.get(key) ?? 0) + 1);
      for (const dimension of counted) asked.add(`${limiter} ${dimension}`);
    }
    return 200;
  });
}

function makeLimiter(units: Budgets): Limiter {
  const counted = DIMENSIONS.filter((dimension) => units[dimension] !== undefined);
  return createLimiter({
    limits: counted.map((per) =>
      fixedWindow({ limit: units[per] as number, window: "1h", per, name: per }),
    ),
  }) as Limiter;
}

interface Known {
  user?: string | undefined;
}

function optionsFor(limiter: Limiter) {
  const countsUsers = limiter.limits.some(({ per }) => per === "user");
  const key = { user: (request: object) => (request as Known).user };
  return { limiter, missingKey: "skip" as const, ...(countsUsers ? { key } : {}) };
}

type Serve = (mounts: readonly { limiter: Limiter; isEarly: boolean }[]) => Promise<SendRequest>;

function serveExpress(makeApp: typeof express5): Serve {
  return async (mounts) => {
    const app = makeApp();
    const middleware = mounts.map(
      ({ limiter }) => rateLimit(optionsFor(limiter)) as RequestHandler,
    );
    const early = middleware.filter((_, i) => mounts[i]?.isEarly);
    const late = middleware.filter((_, i) => !mounts[i]?.isEarly);
    for (const one of early) app.use(one);
    app.use((req: Request & Known, _res, next) => {
      req.user = req.get("x-user");
      next();
    });
    app.get("/", ...late, (_req, res) => res.end("ok"));
    const server = await listen(app);
    const { sendRequest, end } = createHttpClient(server.address() as { port: number });
    onTestFinished(end);
    return sendRequest;
  };
}

const serveFastify: Serve = async (mounts) => {
  const app = Fastify();
  app.addHook("preParsing", async (request: FastifyRequest & Known) => {
    request.user = request.headers["x-user"] as string | undefined;
  });
  for (const { limiter, isEarly } of mounts) {
    await app.register(headgate, {
      ...optionsFor(limiter),
      hook: isEarly ? "onRequest" : "preHandler",
    });
  }
  app.get("/", async () => "ok");
  return start(app);
};

const serveOnHono: Serve = async (mounts) => {
  const app = new Hono();
  const middleware = mounts.map(({ limiter }) => honoRateLimit(optionsFor(limiter)));
  const early = middleware.filter((_, i) => mounts[i]?.isEarly);
  const late = middleware.filter((_, i) => !mounts[i]?.isEarly);
  for (const one of early) app.use(one);
  app.use(async (c: Context & Known, next) => {
    c.user = c.req.header("x-user");
    await next();
  });
  for (const one of late) app.get("/", one);
  app.get("/", (c) => c.text("ok"));
  return serveHono(app);
};

/** Guards of a controller come before those of its routes. */
function serveNestOn(platform: "Express" | "Fastify"): Serve {
  const users: CanActivate = {
    canActivate(context: ExecutionContext & Known) {
      context.user = context.switchToHttp().getRequest().headers["x-user"];
      return true;
    },
  };
  return async (mounts) => {
    const decorators = (isEarly: boolean) =>
      mounts
        .filter((mount) => mount.isEarly === isEarly)
        .map(({ limiter }) => RateLimit(optionsFor(limiter)));
    const pages = controller(
      { "": decorators(false) },
      ...decorators(true),
      UseGuards(users) as ClassDecorator,
    );
    const { sendRequest } = await serveNest(
      { controllers: [pages], providers: [{ provide: APP_FILTER, useClass: RateLimitFilter }] },
      platform,
    );
    return sendRequest;
  };
}

test.each<[string, Serve]>([
  ["Express 4", serveExpress(express4)],
  ["Express 5", serveExpress(express5)],
  ["Fastify", serveFastify],
  ["Hono", serveOnHono],
  ...PLATFORMS.map((platform): [string, Serve] => [`Nest on ${platform}`, serveNestOn(platform)]),
])(
  "%s: every request is counted, wherever limiters are mounted and whatever they leave out",
  async (_, serve) => {
    await fc.assert(
      fc.asyncProperty(sites, async (site) => {
        const limiters = site.limiters.map(makeLimiter);
        const sendRequest = await serve(
          site.mounts.map(({ limiter, isEarly }) => ({
            limiter: limiters[limiter % limiters.length] as Limiter,
            isEarly,
          })),
        );
        const statuses: number[] = [];
        for (const user of site.users) {
          const headers = user === undefined ? {} : { "x-user": user };
          statuses.push((await sendRequest("/", { headers })).status);
        }
        expect(statuses).toEqual(expectedOf(site));
      }),
      { numRuns: RUNS },
    );
  },
);
