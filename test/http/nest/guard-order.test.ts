import { memoryStore } from "@headgate/core";
import {
  byIp,
  combineKeys,
  fixedWindow,
  HeadgateGuard,
  HeadgateModule,
  RateLimit,
  SkipRateLimit,
} from "@headgate/nestjs";
import type { CanActivate, ExecutionContext, INestApplication } from "@nestjs/common";
import { Module, UseGuards } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { recordDecisions } from "../support/record-decisions.ts";
import type { SendRequest } from "../support/send-request.ts";
import { createHttpClient } from "../support/send-request.ts";
import { watchWarnings } from "../support/warnings.ts";
import { controller, makeNest, PLATFORMS } from "./serve-nest.ts";

const limits = fixedWindow({ limit: 100, window: "1h" });
const requestOf = (context: ExecutionContext) => context.switchToHttp().getRequest();
const key = (context: ExecutionContext): string | undefined => requestOf(context).user;

/** Authenticates by a header; a request without it is anonymous. */
class Auth implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    request.user = request.headers["x-user"];
    return true;
  }
}

class AuthModule {}
Module({ providers: [{ provide: APP_GUARD, useClass: Auth }] })(AuthModule);

type Parts = Parameters<typeof makeNest>[0];

async function serve(
  parts: Parts,
  prepare: (app: INestApplication) => void = () => {},
  platform: (typeof PLATFORMS)[number] = "Express",
): Promise<SendRequest> {
  const app = await makeNest(parts, platform);
  prepare(app);
  onTestFinished(() => app.close());
  await app.listen(0, "127.0.0.1");
  const { sendRequest, end } = createHttpClient(app.getHttpServer().address());
  onTestFinished(end);
  return sendRequest;
}

const moduleLimit = () => HeadgateModule.forRoot({ limits, key });
const asAda = { headers: { "x-user": "ada" } };

async function subjectsOf(sendRequest: SendRequest, count = 1): Promise<unknown[]> {
  const published = recordDecisions();
  for (let i = 0; i < count; i += 1) await sendRequest("/page", asAda);
  return published.map(({ subject }) => subject["default"]);
}

type Order = readonly [parts: () => Parts, prepare?: (app: INestApplication) => void];

const page = (...decorators: readonly unknown[]) => [controller({ page: decorators })];

const TOO_EARLY: Readonly<Record<string, Order>> = {
  "app.useGlobalGuards": [
    () => ({ imports: [moduleLimit()], controllers: page() }),
    (app) => app.useGlobalGuards(new Auth()),
  ],
  "the APP_GUARD of a module imported later": [
    () => ({ imports: [moduleLimit(), AuthModule], controllers: page() }),
  ],
  "@UseGuards on the route": [
    () => ({ imports: [moduleLimit()], controllers: page(UseGuards(Auth)) }),
  ],
  "@UseGuards above @RateLimit": [
    // Decorators run from the last to the first.
    () => ({ controllers: page(RateLimit({ limits, key }), UseGuards(Auth)) }),
  ],
};

const IN_TIME: Readonly<Record<string, Order>> = {
  "the APP_GUARD of a module imported earlier": [
    () => ({ imports: [AuthModule, moduleLimit()], controllers: page() }),
  ],
  "an APP_GUARD of the application's own module": [
    () => ({
      imports: [moduleLimit()],
      controllers: page(),
      providers: [{ provide: APP_GUARD, useClass: Auth }],
    }),
  ],
  "app.useGlobalGuards, and HeadgateGuard after it": [
    () => ({ imports: [moduleLimit()], controllers: page() }),
    (app) => app.useGlobalGuards(new Auth(), app.get(HeadgateGuard)),
  ],
  "@UseGuards(Auth, HeadgateGuard) on the route": [
    () => ({ imports: [moduleLimit()], controllers: page(UseGuards(Auth, HeadgateGuard)) }),
  ],
  "@UseGuards(Auth, HeadgateGuard) on the controller": [
    () => ({
      imports: [moduleLimit()],
      controllers: [controller({ page: [] }, UseGuards(Auth, HeadgateGuard))],
    }),
  ],
  "@UseGuards below @RateLimit": [
    () => ({ controllers: page(UseGuards(Auth), RateLimit({ limits, key })) }),
  ],
};

const codes = (warnings: readonly { readonly code: string }[]) => warnings.map(({ code }) => code);

describe.each(PLATFORMS)("on %s", (platform) => {
  test.each(Object.entries(TOO_EARLY))(
    "authentication by %s comes too late for a key, which is reported once",
    async (_, [parts, prepare]) => {
      const warnings = watchWarnings();
      const sendRequest = await serve(parts(), prepare, platform);
      const subjects = await subjectsOf(sendRequest, 8);
      expect(new Set(subjects)).toEqual(new Set(["~ip~127.0.0.1"]));
      await expect.poll(() => codes(warnings)).toEqual(["HEADGATE_KEY_TOO_EARLY"]);
      expect(warnings[0]?.message).toMatch(/@UseGuards\(AuthGuard/);
    },
  );

  test.each(Object.entries(IN_TIME))(
    "authentication by %s comes in time for a key, and each request is counted once",
    async (_, [parts, prepare]) => {
      const warnings = watchWarnings();
      const sendRequest = await serve(parts(), prepare, platform);
      expect(await subjectsOf(sendRequest, 8)).toEqual(Array(8).fill("ada"));
      expect(warnings).toEqual([]);
    },
  );
});

test("a key in combineKeys that comes too early is reported", async () => {
  const warnings = watchWarnings();
  const both = HeadgateModule.forRoot({ limits, key: combineKeys(byIp(), key) });
  const sendRequest = await serve({ imports: [both], controllers: page(UseGuards(Auth)) });
  await subjectsOf(sendRequest, 5);
  await expect.poll(() => codes(warnings)).toEqual(["HEADGATE_KEY_TOO_EARLY"]);
});

test("anonymous requests, and logins before a user who is found in time, are not reported", async () => {
  const warnings = watchWarnings();
  class Login implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      requestOf(context).user = "ada";
      return true;
    }
  }
  const pages = [controller({ page: [], login: [UseGuards(Login)] })];
  const sendRequest = await serve({ imports: [AuthModule, moduleLimit()], controllers: pages });
  for (let i = 0; i < 20; i += 1) await sendRequest("/page");
  for (let i = 0; i < 4; i += 1) await sendRequest("/login");
  await sendRequest("/page", asAda);
  for (let i = 0; i < 20; i += 1) await sendRequest("/login");
  expect(warnings).toEqual([]);
});

test("HeadgateGuard in @UseGuards counts together with the module, and @SkipRateLimit skips it", async () => {
  const one = HeadgateModule.forRoot({ limits: fixedWindow({ limit: 2, window: "1h" }) });
  const pages = controller({
    named: [UseGuards(HeadgateGuard)],
    plain: [],
    skipped: [UseGuards(HeadgateGuard), SkipRateLimit()],
  });
  const sendRequest = await serve({ imports: [one], controllers: [pages] });
  const statuses: number[] = [];
  for (const path of ["/named", "/plain", "/named", "/plain", "/skipped"]) {
    statuses.push((await sendRequest(path)).status);
  }
  expect(statuses).toEqual([200, 200, 429, 429, 200]);
});

test("a limiter that another module names in @UseGuards gives its name back when the application closes", async () => {
  const pages = controller({ page: [UseGuards(HeadgateGuard)] });
  class Feature {}
  Module({ controllers: [pages] })(Feature);
  const store = memoryStore();
  const options = { name: "api", store, limits };
  const app = await makeNest({ imports: [HeadgateModule.forRoot(options), Feature] });
  await app.init();
  expect(app.get(HeadgateGuard).limiter.name).toBe("api");
  await app.close();
  // With other limits, which a name in use would refuse.
  const other = { ...options, limits: fixedWindow({ limit: 1, window: "1d" }) };
  await (await makeNest({ imports: [HeadgateModule.forRoot(other)] })).close();
});
