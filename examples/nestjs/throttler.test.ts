import "reflect-metadata";
import { join } from "node:path";
import { fixedWindow, memoryStore, slidingLog } from "@headgate/core";
import { createHttpGuard } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import type { RateLimitOptions } from "@headgate/nestjs";
import { HeadgateModule, RateLimit, SkipRateLimit } from "@headgate/nestjs";
import type { DynamicModule, ExecutionContext, Type } from "@nestjs/common";
import { Controller, Get, Module } from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule } from "@nestjs/throttler";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { page, ROOT } from "../../test/docs/markdown.ts";
import { readDeclarations } from "../../test/docs/moving/declarations.ts";
import { load } from "../../test/docs/moving/programs.ts";
import {
  describeDifferences,
  describeErrors,
  describeSetUps,
  namesIn,
  tablesIn,
  tablesUnder,
} from "../../test/docs/moving/side-by-side.ts";
import type { TrafficRequest } from "../../test/docs/moving/traffic.ts";
import { expectSameHeaders, sendAll, statusesOf, times } from "../../test/docs/moving/traffic.ts";
import { unreachableRedis } from "../../test/docs/moving/unreachable-redis.ts";

const it = page("docs/moving/from-nestjs-throttler.md");

/** The compiled form of decorators above a class and its methods. */
function decorated(
  pages: Type,
  decorators: Readonly<Record<string, readonly MethodDecorator[]>>,
  ...ofClass: readonly ClassDecorator[]
): Type {
  for (const [name, all] of Object.entries(decorators)) {
    const descriptor = Object.getOwnPropertyDescriptor(pages.prototype, name);
    for (const decorate of all) decorate(pages.prototype, name, descriptor as PropertyDescriptor);
  }
  for (const decorate of [Controller(), ...ofClass]) decorate(pages);
  return pages;
}

/** Two routes, without a decorator of limits. */
function plainPages(): Type {
  class Pages {
    home() {
      return "hello";
    }
    search() {
      return "found";
    }
  }
  return decorated(Pages, { home: [Get()], search: [Get("search")] });
}

interface Parts {
  readonly Application?: Type;
  readonly limits?: DynamicModule;
  readonly Pages?: Type;
}

/** An application of what a program has. */
function applicationOf({ Application, limits, Pages = plainPages() }: Parts): Type {
  if (Application !== undefined) return Application;
  const isOurs = limits?.module === HeadgateModule;
  class Made {}
  Module({
    imports: limits === undefined ? [] : [limits],
    controllers: [Pages],
    providers: isOurs ? [] : [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(Made);
  return Made;
}

/** Ours, in place of a program. */
function ours(options: RateLimitOptions): Parts {
  return { limits: HeadgateModule.forRoot(options) };
}

/** Serves an application until the test ends. Resolves with its URL. */
async function serve(parts: Parts): Promise<string> {
  const app = await NestFactory.create<NestExpressApplication>(applicationOf(parts), {
    logger: false,
  });
  onTestFinished(() => app.close());
  await app.listen(0, "127.0.0.1");
  return (await app.getUrl()).replace("[::1]", "127.0.0.1");
}

async function sendToProgram(
  program: string,
  requests: readonly TrafficRequest[],
): Promise<Response[]> {
  const at = { home: join(ROOT, "examples/nestjs"), linked: [] };
  return sendAll(
    await serve(await load(program, ["Application", "limits", "Pages"], at)),
    requests,
  );
}

interface Traffic {
  readonly requests: readonly TrafficRequest[];
  readonly statuses: readonly number[];
}

describeSetUps<Traffic>(
  it,
  {
    "The five-minute move": { requests: times(7), statuses: [200, 200, 200, 200, 200, 429, 429] },
    "A route with a limit of its own, and one without": {
      requests: [...times(3, { path: "/search" }), ...times(4), ...times(5, { path: "/health" })],
      statuses: [200, 200, 429, 200, 200, 200, 429, 200, 200, 200, 200, 200],
    },
    "Each route for itself": {
      requests: [...times(3), ...times(3, { path: "/search" })],
      statuses: [200, 200, 429, 200, 200, 429],
    },
  },
  async ({ before, after }, traffic) => {
    const theirs = await sendToProgram(before, traffic.requests);
    const here = await sendToProgram(after, traffic.requests);
    expect(statusesOf(theirs)).toEqual(traffic.statuses);
    expect(statusesOf(here)).toEqual(traffic.statuses);
    const allowed = (answers: readonly Response[]) => answers.filter(({ ok }) => ok);
    expectSameHeaders(allowed(theirs), allowed(here));
  },
);

test("options may come from a provider, as with @nestjs/throttler", async () => {
  class Settings {
    limit = 2;
  }
  class SettingsModule {}
  Module({ providers: [Settings], exports: [Settings] })(SettingsModule);
  const from = { imports: [SettingsModule], inject: [Settings] };
  const there = ThrottlerModule.forRootAsync({
    ...from,
    useFactory: ({ limit }: Settings) => [{ ttl: 60_000, limit }],
  });
  const here = HeadgateModule.forRootAsync({
    ...from,
    useFactory: ({ limit }: Settings) => ({ limits: slidingLog({ limit, window: "1m" }) }),
  });
  for (const limits of [there, here]) {
    expect(statusesOf(await sendAll(await serve({ limits }), times(3)))).toEqual([200, 200, 429]);
  }
});

const limits = fixedWindow({ limit: 1, window: "1m" });
const onceThere = ThrottlerModule.forRoot([{ ttl: 60_000, limit: 1 }]);

/** The statuses that both answer. */
async function compare(before: Parts, after: Parts, requests: readonly TrafficRequest[]) {
  const theirs = await sendAll(await serve(before), requests);
  const here = await sendAll(await serve(after), requests);
  return {
    theirs: statusesOf(theirs),
    ours: statusesOf(here),
    denied: [theirs.at(-1), here.at(-1)],
  };
}

afterEach(() => {
  vi.useRealTimers();
});

describeDifferences(it, {
  async "A limit covers all routes together."() {
    const requests = [{ path: "/" }, { path: "/search" }];
    const { theirs, ours: here } = await compare({ limits: onceThere }, ours({ limits }), requests);
    expect({ theirs, here }).toEqual({ theirs: [200, 200], here: [200, 429] });
  },
  async "A denial ends with the window."() {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2030, 0, 1) });
    const store = memoryStore({ clock: () => Date.now() });
    const before = await serve({ limits: ThrottlerModule.forRoot([{ ttl: 60_000, limit: 1 }]) });
    const slides = slidingLog({ limit: 1, window: "1m" });
    const after = await serve(ours({ name: "window", limits: slides, store }));
    const statuses: number[][] = [];
    for (const at of [0, 50_000, 70_000, 111_000]) {
      vi.setSystemTime(Date.UTC(2030, 0, 1) + at);
      statuses.push(
        statusesOf([...(await sendAll(before, times(1))), ...(await sendAll(after, times(1)))]),
      );
    }
    expect(statuses).toEqual([
      [200, 200],
      [429, 429],
      [429, 200],
      [200, 429],
    ]);
  },
  async "Several limits are one decision."() {
    const before = await serve({
      limits: ThrottlerModule.forRoot([
        { name: "short", ttl: 60_000, limit: 9 },
        { name: "long", ttl: 3_600_000, limit: 1 },
      ]),
    });
    const ofBoth = [
      fixedWindow({ limit: 9, window: "1m" }),
      fixedWindow({ limit: 1, window: "1h" }),
    ];
    const theirs = await sendAll(before, times(3));
    const here = await sendAll(await serve(ours({ limits: ofBoth })), times(3));
    expect(theirs.at(-1)?.headers.get("x-ratelimit-remaining-short")).toBe("6");
    expect(here.at(-1)?.headers.get("ratelimit")).toContain('"9-per-1m";r=8');
  },
  async "A client can read when to come back."() {
    const named = ThrottlerModule.forRoot([{ name: "burst", ttl: 60_000, limit: 1 }]);
    const after = ours({ limits: { ...limits, name: "burst" } });
    const { denied } = await compare({ limits: named }, after, times(2));
    const waits = denied.map((answer) => answer?.headers.get("retry-after"));
    expect(waits).toEqual([null, expect.stringMatching(/^(?:59|60)$/)]);
    expect(denied[0]?.headers.has("retry-after-burst")).toBe(true);
  },
  async "The store may fail."() {
    const storage = { increment: () => Promise.reject(new Error("away")) };
    const throttlers = [{ ttl: 60_000, limit: 1 }];
    const before = { limits: ThrottlerModule.forRoot({ throttlers, storage }) };
    const store = redisStore(unreachableRedis());
    const after = ours({ name: "away", limits, store });
    const { theirs, ours: here } = await compare(before, after, times(2));
    expect({ theirs, here }).toEqual({ theirs: [500, 500], here: [200, 429] });
  },
});

test("slidingLog with a block as long as its window blocks as the built-in storage does", async () => {
  for (const [name, blockDuration, block] of [
    ["ttl", undefined, "1m"],
    ["longer", 180_000, "3m"],
  ] as const) {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2030, 0, 1) });
    const store = memoryStore({ clock: () => Date.now() });
    const slides = slidingLog({ limit: 2, window: "1m", block });
    const throttler = { ttl: 60_000, limit: 2, ...(blockDuration && { blockDuration }) };
    const before = await serve({ limits: ThrottlerModule.forRoot([throttler]) });
    const after = await serve(ours({ name, limits: slides, store }));
    const statuses: number[][] = [];
    const lasts = blockDuration ?? 60_000;
    for (const at of [0, 10_000, 50_000, 50_000 + lasts - 1_000, 50_000 + lasts + 1_000]) {
      vi.setSystemTime(Date.UTC(2030, 0, 1) + at);
      statuses.push(
        statusesOf([...(await sendAll(before, times(1))), ...(await sendAll(after, times(1)))]),
      );
    }
    expect(statuses).toEqual([
      [200, 200],
      [200, 200],
      [429, 429],
      [429, 429],
      [200, 200],
    ]);
  }
});

test("a key function corresponds to generateKey", async () => {
  const key = (context: ExecutionContext): string =>
    context.switchToHttp().getRequest().headers["x-tenant"] ?? "none";
  const throttlers = [{ ttl: 60_000, limit: 1 }];
  const requests = ["acme", "acme", "other"].map((tenant) => ({ headers: { "x-tenant": tenant } }));
  const { theirs, ours: here } = await compare(
    { limits: ThrottlerModule.forRoot({ throttlers, generateKey: key }) },
    ours({ limits, key }),
    requests,
  );
  expect({ theirs, here }).toEqual({ theirs: [200, 429, 200], here: [200, 429, 200] });
});

test("skip replaces skipIf and ignoreUserAgents", async () => {
  const skipIf = (context: ExecutionContext) =>
    context.switchToHttp().getRequest().headers["user-agent"] === "robot";
  const robots = times(3, { headers: { "user-agent": "robot" } });
  for (const more of [{ skipIf }, { ignoreUserAgents: [/robot/] }]) {
    const throttlers = [{ ttl: 60_000, limit: 1, ...more }];
    const { theirs, ours: here } = await compare(
      { limits: ThrottlerModule.forRoot({ throttlers }) },
      ours({ limits, skip: skipIf }),
      [...robots, ...times(2)],
    );
    expect({ theirs, here }).toEqual({
      theirs: [200, 200, 200, 200, 429],
      here: [200, 200, 200, 200, 429],
    });
  }
});

test("slidingLog counts as the built-in storage does", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2030, 0, 1) });
  const store = memoryStore({ clock: () => Date.now() });
  const slides = slidingLog({ limit: 2, window: "1m" });
  const before = await serve({ limits: ThrottlerModule.forRoot([{ ttl: 60_000, limit: 2 }]) });
  const after = await serve(ours({ name: "same", limits: slides, store }));
  const statuses: number[][] = [];
  for (const at of [0, 50_000, 70_000, 80_000]) {
    vi.setSystemTime(Date.UTC(2030, 0, 1) + at);
    statuses.push(
      statusesOf([...(await sendAll(before, times(1))), ...(await sendAll(after, times(1)))]),
    );
  }
  expect(statuses).toEqual([
    [200, 200],
    [200, 200],
    [200, 200],
    [429, 429],
  ]);
});

test("SkipRateLimit lifts exactly the limits around it", async () => {
  class Pages {
    limited() {}
    both() {}
    lifted() {}
    kept() {}
  }
  const twice = fixedWindow({ limit: 2, window: "1m", name: "route" });
  decorated(
    Pages,
    {
      limited: [Get("limited")],
      both: [Get("both"), RateLimit({ limits: twice })],
      lifted: [Get("lifted"), SkipRateLimit(), RateLimit({ limits: twice })],
      kept: [Get("kept"), SkipRateLimit(false)],
    },
    RateLimit({ limits: fixedWindow({ limit: 9, window: "1m", name: "controller" }) }),
    SkipRateLimit(),
  );
  const paths = ["limited", "both", "lifted", "kept"].map((path) => ({ path: `/${path}` }));
  const answers = await sendAll(
    await serve({ ...ours({ limits: { ...limits, limit: 99, name: "application" } }), Pages }),
    paths,
  );
  const policies = answers.map(({ headers }) =>
    [...(headers.get("ratelimit-policy") ?? "").matchAll(/"(\w+)"/g)].map(([, name]) => name),
  );
  expect(policies).toEqual([
    ["controller"],
    ["controller", "route"],
    ["route"],
    ["application", "controller"],
  ]);
});

test("named throttlers are changed and skipped one by one", async () => {
  const there = ThrottlerModule.forRoot([
    { name: "short", ttl: 60_000, limit: 2 },
    { name: "long", ttl: 3_600_000, limit: 3 },
  ]);
  const short = (limit: number) => slidingLog({ limit, window: "1m", name: "short" });
  const long = slidingLog({ limit: 3, window: "1h", name: "long" });
  const routes = () =>
    class Pages {
      changed() {}
      lifted() {}
      skipped() {}
    };
  const theirPages = decorated(routes(), {
    changed: [Get("changed"), Throttle({ short: { limit: 1, ttl: 60_000 } })],
    lifted: [Get("lifted"), SkipThrottle({ short: true })],
    skipped: [Get("skipped"), SkipThrottle()],
  });
  const ourPages = decorated(routes(), {
    changed: [Get("changed"), SkipRateLimit(), RateLimit({ limits: [short(1), long] })],
    lifted: [Get("lifted"), SkipRateLimit(), RateLimit({ limits: long })],
    skipped: [Get("skipped"), SkipRateLimit()],
  });
  const requests = ["changed", "lifted", "skipped"].flatMap((path) =>
    times(4, { path: `/${path}` }),
  );
  const { theirs, ours: here } = await compare(
    { limits: there, Pages: theirPages },
    { ...ours({ limits: [short(2), long] }), Pages: ourPages },
    requests,
  );
  const same = [200, 429, 429, 429, 200, 200, 200, 429];
  expect(theirs).toEqual([...same, 200, 200, 429, 429]);
  expect(here).toEqual([...same, 200, 200, 200, 200]);
});

describe("its types", () => {
  const dir = "examples/nestjs/node_modules/@nestjs/throttler/dist";
  const types = readDeclarations(dir, "index.d.ts");
  const [options, , guardMethods] = tablesIn(it, "Every option");
  const [names] = tablesUnder(it, "Decorators and classes");
  const namesOf = (table: typeof options) => namesIn(table === undefined ? [] : [table]);

  test("the page lists exactly its options", () => {
    const typed = ["ThrottlerOptions", "ThrottlerModuleOptions"].flatMap(types.propertiesOf);
    expect(namesOf(options).toSorted()).toEqual([...new Set(typed)].toSorted());
  });

  test("the page lists exactly its exports", () => {
    // Types of options, of their functions, and of what these are given.
    const isType = /^(?:Resolvable|Throttler(?:\w*Options\w*|\w+Function|LimitDetail|Request))$/;
    expect(
      namesOf(names)
        .map((name) => name.replace("@", ""))
        .toSorted(),
    ).toEqual(types.exported.filter((name) => !isType.test(name)).toSorted());
  });

  test("the page lists exactly the methods of its guard", () => {
    const properties = types.propertiesOf("ThrottlerGuard");
    const isField =
      /^(?:options|storageService|reflector|headerPrefix|logger|errorMessage|throttlers|commonOptions|ipv6SubnetPrefix)$/;
    expect(namesOf(guardMethods).toSorted()).toEqual(
      properties.filter((name) => !isField.test(name)).toSorted(),
    );
  });

  describeErrors(
    options === undefined ? [] : [options],
    (more) => createHttpGuard("RateLimit", { limits, ...more } as never),
    ["name"],
  );
});
