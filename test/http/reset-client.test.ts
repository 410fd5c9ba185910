import { fixedWindow } from "@headgate/core";
import { rateLimit } from "@headgate/hono";
import { HeadgateGuard, HeadgateModule } from "@headgate/nestjs";
import type { ExecutionContext } from "@nestjs/common";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { controller, PLATFORMS, serveNest } from "./nest/serve-nest.ts";
import type { SendRequest } from "./support/send-request.ts";
import { serveHono } from "./support/serve-hono.ts";

/*
 * Express and Fastify reset clients in the recipe of a login.
 */

/** How a client is forgiven that has just asked. */
interface Site {
  readonly sendRequest: SendRequest;
  resetClient(): Promise<boolean>;
}

type Serve = (resetDimensions: readonly "account"[] | undefined) => Promise<Site>;

const limits = fixedWindow({ limit: 1, window: "1h", per: "account" });

const serveOnHono: Serve = async (resetDimensions) => {
  let last: object = {};
  const limit = rateLimit({
    limits,
    resetDimensions,
    key: {
      account: (c) => {
        last = c;
        return c.req.header("x-account");
      },
    },
  });
  onTestFinished(() => limit.close());
  const app = new Hono().get("/page", limit, (c) => c.text("page"));
  return { sendRequest: await serveHono(app), resetClient: () => limit.resetClient(last) };
};

const serveNestOn =
  (platform: (typeof PLATFORMS)[number]): Serve =>
  async (resetDimensions) => {
    let last: object = {};
    const account = (context: ExecutionContext) => {
      last = context.switchToHttp().getRequest();
      return context.switchToHttp().getRequest().headers["x-account"];
    };
    const imports = [HeadgateModule.forRoot({ limits, resetDimensions, key: { account } })];
    const { app, sendRequest } = await serveNest(
      { imports, controllers: [controller({ page: [] })] },
      platform,
    );
    return { sendRequest, resetClient: () => app.get(HeadgateGuard).resetClient(last) };
  };

const FRAMEWORKS: readonly [string, Serve][] = [
  ["Hono", serveOnHono],
  ...PLATFORMS.map((platform): [string, Serve] => [`Nest on ${platform}`, serveNestOn(platform)]),
];

test.each(FRAMEWORKS)("%s: resetClient resets one client in one line", async (_, serve) => {
  const { sendRequest, resetClient } = await serve(["account"]);
  const statusOf = async (account: string) =>
    (await sendRequest("/page", { headers: { "x-account": account } })).status;
  expect(await statusOf("grace")).toBe(200);
  expect(await statusOf("ada")).toBe(200);
  expect(await statusOf("ada")).toBe(429);
  expect(await resetClient()).toBe(true);
  expect(await statusOf("ada")).toBe(200);
  expect(await statusOf("grace")).toBe(429);
});

test.each(FRAMEWORKS)(
  "%s: resetClient without the option resetDimensions is an error",
  async (_, serve) => {
    const { sendRequest, resetClient } = await serve(undefined);
    await sendRequest("/page", { headers: { "x-account": "ada" } });
    await expect(resetClient()).rejects.toMatchObject({ code: "HEADGATE_INVALID_OPTION" });
  },
);
