import { memoryStore } from "@headgate/core";
import type { RateLimitOptions } from "@headgate/nestjs";
import {
  byHeader,
  byTier,
  fixedWindow,
  HeadgateGuard,
  HeadgateModule,
  perRequest,
  RateLimit,
  RateLimitCost,
  RateLimitException,
  RateLimitFilter,
} from "@headgate/nestjs";
import type { ArgumentsHost, ExecutionContext } from "@nestjs/common";
import { Catch, HttpException, Module } from "@nestjs/common";
import { describe, expect, test } from "vitest";
import { NEST_MAJOR } from "../support/nest-framework.ts";
import type { SendRequest } from "../support/send-request.ts";
import { watchQueue } from "../wait/waiting-clients.ts";
import { controller, makeNest, PLATFORMS, serveNest } from "./serve-nest.ts";

const hourly = (limit: number, name = "hourly") => fixedWindow({ limit, window: "1h", name });

async function statusesOf(
  sendRequest: SendRequest,
  ...paths: readonly string[]
): Promise<number[]> {
  const statuses: number[] = [];
  for (const path of paths) statuses.push((await sendRequest(path)).status);
  return statuses;
}

const remainingOf = async (sendRequest: SendRequest, path: string): Promise<string | undefined> =>
  (await sendRequest(path)).headers["x-ratelimit-remaining"];

test("the version of Nest under test is the one that HEADGATE_NEST names, by default 12", () => {
  expect(NEST_MAJOR).toBe(Number(process.env["HEADGATE_NEST"] ?? 12));
});

describe("options of the module", () => {
  class Settings {
    readonly limit = 1;
    createHeadgateOptions(): RateLimitOptions {
      return { limits: hourly(this.limit) };
    }
  }
  class SettingsModule {}
  Module({ providers: [Settings], exports: [Settings] })(SettingsModule);

  test.each([
    ["as they are", HeadgateModule.forRoot({ limits: hourly(1) })],
    [
      "from a factory",
      HeadgateModule.forRootAsync({
        imports: [SettingsModule],
        inject: [Settings],
        useFactory: async ({ limit }: Settings) => ({ limits: hourly(limit) }),
      }),
    ],
    ["from a class", HeadgateModule.forRootAsync({ useClass: Settings })],
    [
      "from a class that exists",
      HeadgateModule.forRootAsync({ imports: [SettingsModule], useExisting: Settings }),
    ],
  ])("options can come from %s", async (_, limits) => {
    const { sendRequest } = await serveNest({
      imports: [limits],
      controllers: [controller({ page: [] })],
    });
    expect(await statusesOf(sendRequest, "/page", "/page")).toEqual([200, 429]);
  });

  test("invalid options fail the start", async () => {
    const wrong = [
      HeadgateModule.forRoot({ limits: hourly(1), keyGenerator: 1 } as never),
      HeadgateModule.forRootAsync({ useFactory: () => undefined as never }),
    ];
    for (const one of wrong) {
      await expect(makeNest({ imports: [one] })).rejects.toMatchObject({
        code: "HEADGATE_INVALID_OPTION",
      });
    }
    const pages = controller({ page: [RateLimit({ limits: hourly(-1) })] });
    await expect(makeNest({ controllers: [pages] })).rejects.toMatchObject({
      code: "HEADGATE_INVALID_LIMIT",
      message: expect.stringContaining("RateLimit on Pages.page"),
    });
    expect(() => HeadgateModule.forRootAsync({})).toThrow("needs useFactory");
  });
});

describe.each(PLATFORMS)("on %s", (platform) => {
  test("a cost comes from the route, then the controller, then the module", async () => {
    const pages = controller(
      {
        plain: [],
        five: [RateLimitCost(5)],
        asked: [RateLimitCost((context: ExecutionContext) => context.getHandler().name.length)],
      },
      RateLimitCost(2),
    );
    const others = controller({ other: [] });
    const limits = HeadgateModule.forRoot({ limits: hourly(100), cost: 10 });
    const { sendRequest } = await serveNest(
      { imports: [limits], controllers: [pages, others] },
      platform,
    );
    expect(await remainingOf(sendRequest, "/plain")).toBe("98");
    expect(await remainingOf(sendRequest, "/five")).toBe("93");
    expect(await remainingOf(sendRequest, "/asked")).toBe("88");
    expect(await remainingOf(sendRequest, "/other")).toBe("78");
  });

  test("key, limits, skip and cost get the execution context", async () => {
    const headersOf = (context: ExecutionContext) => context.switchToHttp().getRequest().headers;
    const limits = HeadgateModule.forRoot({
      limits: perRequest(hourly(1), (context) => hourly(Number(headersOf(context)["x-limit"]))),
      key: (context) => `${headersOf(context)["x-user"]} ${context.getHandler().name}`,
      skip: (context) => context.getHandler().name === "health",
      cost: (context) => Number(headersOf(context)["x-cost"]),
    });
    const pages = controller({ page: [], health: [] });
    const { sendRequest } = await serveNest({ imports: [limits], controllers: [pages] }, platform);
    const headers = { "x-limit": "9", "x-user": "ada", "x-cost": "4" };
    const first = await sendRequest("/page", { headers });
    expect(first.headers["x-ratelimit-remaining"]).toBe("5");
    expect((await sendRequest("/health", { headers })).headers).not.toHaveProperty("ratelimit");
  });

  test("a route inherits store, key and response, and counts under its own name", async () => {
    const store = memoryStore();
    const limits = HeadgateModule.forRoot({
      name: "api",
      store,
      key: byHeader("x-user"),
      missingKey: "reject",
      onDenied: () => {
        throw new HttpException("slow down", 418);
      },
    });
    const pages = controller({ one: [RateLimit({ limits: hourly(1) })], free: [] });
    const { sendRequest } = await serveNest({ imports: [limits], controllers: [pages] }, platform);
    const asAda = { headers: { "x-user": "ada" } };
    expect((await sendRequest("/one")).status).toBe(400);
    expect((await sendRequest("/one", asAda)).status).toBe(200);
    const denied = await sendRequest("/one", asAda);
    expect([denied.status, denied.text]).toEqual([418, '{"statusCode":418,"message":"slow down"}']);
    expect(denied.headers).toMatchObject({
      "retry-after": expect.any(String),
      ratelimit: expect.stringContaining("r=0"),
    });
    expect((await sendRequest("/one", { headers: { "x-user": "grace" } })).status).toBe(200);
    expect((await sendRequest("/free", asAda)).headers).not.toHaveProperty("ratelimit");
  });

  test("a route inherits shadow mode, unless it has an option of its own", async () => {
    const limits = HeadgateModule.forRoot({ shadow: true });
    const pages = controller({
      one: [RateLimit({ limits: hourly(1) })],
      two: [RateLimit({ limits: hourly(1), shadow: false })],
    });
    const { sendRequest } = await serveNest({ imports: [limits], controllers: [pages] }, platform);
    const statuses = await statusesOf(sendRequest, "/one", "/one", "/two", "/two");
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  test("the injected HeadgateGuard returns decisions and resets clients", async () => {
    const limits = HeadgateModule.forRoot({ limits: hourly(1) });
    const pages = controller({ page: [] });
    const { app, sendRequest } = await serveNest(
      { imports: [limits], controllers: [pages] },
      platform,
    );
    expect(await statusesOf(sendRequest, "/page", "/page")).toEqual([200, 429]);
    await app.get(HeadgateGuard).limiter.reset("127.0.0.1");
    expect((await sendRequest("/page")).status).toBe(200);
  });

  test("a filter of the application can respond, and the headers stay", async () => {
    class Filter {
      catch({ decision }: RateLimitException, host: ArgumentsHost): void {
        const reply = host.switchToHttp().getResponse();
        reply.status(429).send({ mine: decision?.limit });
      }
    }
    Catch(RateLimitException)(Filter);
    const limits = HeadgateModule.forRoot({ limits: hourly(1) });
    const pages = controller({ page: [] });
    const filters = [new Filter()];
    const { sendRequest } = await serveNest(
      { imports: [limits], controllers: [pages], filters },
      platform,
    );
    await sendRequest("/page");
    const denied = await sendRequest("/page");
    expect([denied.status, denied.json()]).toEqual([429, { mine: 1 }]);
    expect(denied.headers).toHaveProperty("retry-after");
  });

  test("Headgate's filter adds nothing to a response that has begun", async () => {
    class Filter extends RateLimitFilter {
      override catch(exception: RateLimitException, host: ArgumentsHost): unknown {
        const reply = host.switchToHttp().getResponse();
        const node = reply.raw ?? reply;
        node.writeHead(402).write("own ");
        super.catch(exception, host);
        return void node.end("answer");
      }
    }
    Catch(RateLimitException)(Filter);
    const limits = HeadgateModule.forRoot({ limits: hourly(1) });
    const pages = controller({ page: [] });
    const filters = [new Filter()];
    const { sendRequest } = await serveNest(
      { imports: [limits], controllers: [pages], filters },
      platform,
    );
    await sendRequest("/page");
    const { status, text } = await sendRequest("/page");
    expect([status, text]).toEqual([402, "own answer"]);
  });
});

test("the limiter of a module with tiers, or without limits, throws", async () => {
  const select = () => "free" as const;
  const tiered = await makeNest({
    imports: [HeadgateModule.forRoot({ limits: byTier({ free: hourly(1) }, select) })],
  });
  expect([...tiered.get(HeadgateGuard).tiers.keys()]).toEqual(["free"]);
  expect(() => tiered.get(HeadgateGuard).limiter).toThrow("limits by tier");
  const bare = await makeNest({ imports: [HeadgateModule.forRoot({})] });
  expect(() => bare.get(HeadgateGuard).limiter).toThrow("no limits");
});

test("an unsupported kind of context is rejected, and does not pass", async () => {
  const app = await makeNest({ imports: [HeadgateModule.forRoot({ limits: hourly(1) })] });
  const context = (kind: string) => ({
    getType: () => kind,
    getArgs: () => [undefined, undefined, {}, {}],
    getHandler: () => hourly,
    getClass: () => Object,
  });
  const send = async (kind: string) =>
    app.get(HeadgateGuard).canActivate(context(kind) as unknown as ExecutionContext);
  await expect(send("rpc")).rejects.toThrow('messages, not "rpc"; put @SkipRateLimit()');
  await expect(send("graphql")).rejects.toThrow("needs the HTTP request of a GraphQL operation");
});

test("the decision on a GraphQL field is found by its info, and by no other's", async () => {
  const app = await makeNest({ imports: [HeadgateModule.forRoot({ limits: hourly(1) })] });
  const guard = app.get(HeadgateGuard);
  const info = {};
  const request = { ip: "203.0.113.7", headers: {} };
  const context = {
    getType: () => "graphql",
    getArgs: () => [undefined, undefined, { req: request }, info],
    getHandler: () => hourly,
    getClass: () => Object,
  };
  await guard.canActivate(context as unknown as ExecutionContext);
  expect(guard.decisionOf(info)?.subject).toEqual({ default: "203.0.113.7" });
  expect(guard.decisionOf({})).toBeUndefined();
});

test("closing an application frees its names, and ends waits with a response", async () => {
  const store = memoryStore();
  const options = { name: "api", store, limits: hourly(1), wait: "10m" } as const;
  const own = RateLimit({ name: "own", store, limits: hourly(1, "own") });
  const parts = () => ({
    imports: [HeadgateModule.forRoot(options)],
    controllers: [controller({ page: [], own: [own] })],
  });
  const { app, sendRequest } = await serveNest(parts());
  const line = watchQueue();
  await sendRequest("/page");
  const waiting = sendRequest("/page");
  await line.joined(1);
  await Promise.all([app.close(), waiting]);
  expect((await waiting).status).toBe(429);
  // With other limits, which a name in use would refuse.
  const again = await makeNest({
    imports: [
      HeadgateModule.forRoot({ ...options, limits: fixedWindow({ limit: 1, window: "1d" }) }),
    ],
  });
  await again.close();
});
