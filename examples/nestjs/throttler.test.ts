import "reflect-metadata";
import { join } from "node:path";
import { fixedWindow, memoryStore, slidingLog } from "@headgate/core";
import { createHttpGuard } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import type { Type } from "@nestjs/common";
import { Controller, Get, Module } from "@nestjs/common";
import { APP_FILTER, APP_GUARD, NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { ThrottlerGuard, ThrottlerModule } from "@nestjs/throttler";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { page, ROOT } from "../../test/docs/markdown.ts";
import { readDeclarations } from "../../test/docs/moving/declarations.ts";
import { load } from "../../test/docs/moving/programs.ts";
import { redisThatIsAway } from "../../test/docs/moving/redis-away.ts";
import {
  describeDifferences,
  describeErrors,
  describeSetUps,
  namesIn,
  tablesIn,
  tablesUnder,
} from "../../test/docs/moving/side-by-side.ts";
import type { Asked } from "../../test/docs/moving/traffic.ts";
import { ask, expectSameHeaders, statusesOf, times } from "../../test/docs/moving/traffic.ts";

const { RateLimit, RejectedFilter, rateLimitGuard, SkipRateLimit } = await import(
  join(import.meta.dirname, "rate-limit.mjs")
);

const it = page("docs/moving/from-nestjs-throttler.md");

/** What TypeScript makes of decorators above a class and its methods. */
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
  readonly Limits?: Type;
  readonly limits?: object;
  readonly Guard?: Type;
  readonly Filter?: Type;
  readonly Pages?: Type;
}

/** An application of what a program has. */
function applicationOf(parts: Parts): Type {
  const { Application, Limits, limits, Guard = ThrottlerGuard, Filter = RejectedFilter } = parts;
  if (Application !== undefined) return Application;
  class Made {}
  Module({
    imports: [Limits, limits].filter((one) => one !== undefined) as Type[],
    controllers: [parts.Pages ?? plainPages()],
    providers: [
      { provide: APP_FILTER, useClass: Filter },
      ...(Limits === undefined ? [{ provide: APP_GUARD, useClass: Guard }] : []),
    ],
  })(Made);
  return Made;
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

async function askProgram(program: string, requests: readonly Asked[]): Promise<Response[]> {
  const names = ["Application", "Limits", "limits", "Guard", "Filter", "Pages"];
  const at = { home: join(ROOT, "examples/nestjs"), beside: ["rate-limit.mjs"] };
  const runnable = program.replaceAll('"./rate-limit"', '"./rate-limit.mjs"');
  return ask(await serve(await load(runnable, names, at)), requests);
}

interface Traffic {
  readonly requests: readonly Asked[];
  readonly statuses: readonly number[];
  readonly hasSameBody?: boolean;
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
    "A customer's key and plan": {
      requests: [
        ...times(3, { headers: { "x-customer": "ada" } }),
        ...times(5, { headers: { "x-customer": "grace", "x-plan": "premium" } }),
      ],
      statuses: [200, 200, 429, 200, 200, 200, 200, 429],
    },
    "An answer of your own": { requests: times(2), statuses: [200, 429], hasSameBody: true },
  },
  async ({ before, after }, traffic) => {
    const theirs = await askProgram(before, traffic.requests);
    const ours = await askProgram(after, traffic.requests);
    expect(statusesOf(theirs)).toEqual(traffic.statuses);
    expect(statusesOf(ours)).toEqual(traffic.statuses);
    const allowed = (answers: readonly Response[]) => answers.filter(({ ok }) => ok);
    expectSameHeaders(allowed(theirs), allowed(ours));
    if (traffic.hasSameBody) {
      expect(await ours.at(-1)?.json()).toEqual(await theirs.at(-1)?.json());
    }
  },
);

test("options may come from a provider", async () => {
  const program = page(it.path).blocks.find(({ text }) => text.includes("useFactory"))?.text ?? "";
  expect(statusesOf(await askProgram(program, times(3)))).toEqual([200, 200, 429]);
});

const limits = fixedWindow({ limit: 1, window: "1m" });
const onceThere = ThrottlerModule.forRoot([{ ttl: 60_000, limit: 1 }]);

/** The statuses that both answer. */
async function compare(before: Parts, after: Parts, requests: readonly Asked[]) {
  const theirs = await ask(await serve(before), requests);
  const ours = await ask(await serve(after), requests);
  return {
    theirs: statusesOf(theirs),
    ours: statusesOf(ours),
    denied: [theirs.at(-1), ours.at(-1)],
  };
}

afterEach(() => {
  vi.useRealTimers();
});

describeDifferences(it, {
  async "A limit covers all routes together."() {
    const requests = [{ path: "/" }, { path: "/search" }];
    const after = { Guard: rateLimitGuard({ limits }) };
    const { theirs, ours } = await compare({ limits: onceThere }, after, requests);
    expect({ theirs, ours }).toEqual({ theirs: [200, 200], ours: [200, 429] });
  },
  async "A denial ends with the window."() {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2030, 0, 1) });
    const store = memoryStore({ clock: () => Date.now() });
    const before = await serve({ limits: ThrottlerModule.forRoot([{ ttl: 60_000, limit: 1 }]) });
    const slides = slidingLog({ limit: 1, window: "1m" });
    const after = await serve({ Guard: rateLimitGuard({ name: "window", limits: slides, store }) });
    const statuses: number[][] = [];
    for (const at of [0, 50_000, 70_000, 111_000]) {
      vi.setSystemTime(Date.UTC(2030, 0, 1) + at);
      statuses.push(
        statusesOf([...(await ask(before, times(1))), ...(await ask(after, times(1)))]),
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
    const Guard = rateLimitGuard({ limits: ofBoth });
    const theirs = await ask(before, times(3));
    const ours = await ask(await serve({ Guard }), times(3));
    expect(theirs.at(-1)?.headers.get("x-ratelimit-remaining-short")).toBe("6");
    expect(ours.at(-1)?.headers.get("ratelimit")).toContain('"9-per-1m";r=8');
  },
  async "A client can read when to come back."() {
    const named = ThrottlerModule.forRoot([{ name: "burst", ttl: 60_000, limit: 1 }]);
    const Guard = rateLimitGuard({ limits: { ...limits, name: "burst" } });
    const { denied } = await compare({ limits: named }, { Guard }, times(2));
    const waits = denied.map((answer) => answer?.headers.get("retry-after"));
    expect(waits).toEqual([null, expect.stringMatching(/^(?:59|60)$/)]);
    expect(denied[0]?.headers.has("retry-after-burst")).toBe(true);
  },
  async "The store may fail."() {
    const storage = { increment: () => Promise.reject(new Error("away")) };
    const throttlers = [{ ttl: 60_000, limit: 1 }];
    const before = { limits: ThrottlerModule.forRoot({ throttlers, storage }) };
    const store = redisStore(redisThatIsAway());
    const after = { Guard: rateLimitGuard({ name: "away", limits, store }) };
    const { theirs, ours } = await compare(before, after, times(2));
    expect({ theirs, ours }).toEqual({ theirs: [500, 500], ours: [200, 429] });
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
    const after = await serve({ Guard: rateLimitGuard({ name, limits: slides, store }) });
    const statuses: number[][] = [];
    const lasts = blockDuration ?? 60_000;
    for (const at of [0, 10_000, 50_000, 50_000 + lasts - 1_000, 50_000 + lasts + 1_000]) {
      vi.setSystemTime(Date.UTC(2030, 0, 1) + at);
      statuses.push(
        statusesOf([...(await ask(before, times(1))), ...(await ask(after, times(1)))]),
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

test("a guard refuses onDenied, which it would not call", () => {
  expect(() => rateLimitGuard({ limits, onDenied: () => {} })).toThrow("catches Rejected");
});

test("a key of its own counts as a generateKey, whatever the address", async () => {
  const key = ({ headers }: { headers: Record<string, string> }) => headers["x-tenant"] ?? "none";
  const generateKey = (context: { switchToHttp(): { getRequest(): { headers: object } } }) =>
    key(context.switchToHttp().getRequest() as never);
  const throttlers = [{ ttl: 60_000, limit: 1 }];
  const requests = ["acme", "acme", "other"].map((tenant) => ({ headers: { "x-tenant": tenant } }));
  const { theirs, ours } = await compare(
    { limits: ThrottlerModule.forRoot({ throttlers, generateKey }) },
    { Guard: rateLimitGuard({ limits, key }) },
    requests,
  );
  expect({ theirs, ours }).toEqual({ theirs: [200, 429, 200], ours: [200, 429, 200] });
});

test("skip takes the place of skipIf and of ignoreUserAgents", async () => {
  const isRobot = (req: { headers: Record<string, string> }) =>
    req.headers["user-agent"] === "robot";
  const skipIf = (context: { switchToHttp(): { getRequest(): never } }) =>
    isRobot(context.switchToHttp().getRequest());
  const robots = times(3, { headers: { "user-agent": "robot" } });
  for (const more of [{ skipIf }, { ignoreUserAgents: [/robot/] }]) {
    const throttlers = [{ ttl: 60_000, limit: 1, ...more }];
    const { theirs, ours } = await compare(
      { limits: ThrottlerModule.forRoot({ throttlers }) },
      { Guard: rateLimitGuard({ limits, skip: isRobot }) },
      [...robots, ...times(2)],
    );
    expect({ theirs, ours }).toEqual({
      theirs: [200, 200, 200, 200, 429],
      ours: [200, 200, 200, 200, 429],
    });
  }
});

test("slidingLog counts as the built-in storage does", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2030, 0, 1) });
  const store = memoryStore({ clock: () => Date.now() });
  const slides = slidingLog({ limit: 2, window: "1m" });
  const before = await serve({ limits: ThrottlerModule.forRoot([{ ttl: 60_000, limit: 2 }]) });
  const after = await serve({ Guard: rateLimitGuard({ name: "same", limits: slides, store }) });
  const statuses: number[][] = [];
  for (const at of [0, 50_000, 70_000, 80_000]) {
    vi.setSystemTime(Date.UTC(2030, 0, 1) + at);
    statuses.push(statusesOf([...(await ask(before, times(1))), ...(await ask(after, times(1)))]));
  }
  expect(statuses).toEqual([
    [200, 200],
    [200, 200],
    [200, 200],
    [429, 429],
  ]);
});

test("a limit is lifted where it stands around the decorator, and nowhere else", async () => {
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
  const Guard = rateLimitGuard({ limits: { ...limits, limit: 99, name: "application" } });
  const paths = ["limited", "both", "lifted", "kept"].map((path) => ({ path: `/${path}` }));
  const answers = await ask(await serve({ Guard, Pages }), paths);
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

describe("its types", () => {
  const dir = "examples/nestjs/node_modules/@nestjs/throttler/dist";
  const types = readDeclarations(dir, "index.d.ts");
  const [options, , guardMethods] = tablesIn(it, "Every option");
  const [names] = tablesUnder(it, "Decorators and classes");
  const namesOf = (table: typeof options) => namesIn(table === undefined ? [] : [table]);

  test("have no option that the page leaves out, and the page no other", () => {
    const typed = ["ThrottlerOptions", "ThrottlerModuleOptions"].flatMap(types.propertiesOf);
    expect(namesOf(options).toSorted()).toEqual([...new Set(typed)].toSorted());
  });

  test("have no export that the page leaves out, and the page no other", () => {
    // Types of options, of their functions, and of what these are given.
    const isType = /^(?:Resolvable|Throttler(?:\w*Options\w*|\w+Function|LimitDetail|Request))$/;
    expect(
      namesOf(names)
        .map((name) => name.replace("@", ""))
        .toSorted(),
    ).toEqual(types.exported.filter((name) => !isType.test(name)).toSorted());
  });

  test("have no method of the guard that the page leaves out, and the page no other", () => {
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
