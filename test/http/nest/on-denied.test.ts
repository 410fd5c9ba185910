import type { OnDenied } from "@headgate/nestjs";
import { fixedWindow, HeadgateModule } from "@headgate/nestjs";
import type { CanActivate, ExecutionContext } from "@nestjs/common";
import { Catch, UseGuards } from "@nestjs/common";
import type { FastifyReply } from "fastify";
import { expect, test } from "vitest";
import type { TestResponse } from "../support/send-request.ts";
import { controller, PLATFORMS, serveNest } from "./serve-nest.ts";

const limits = fixedWindow({ limit: 1, window: "1h" });

async function secondWith(
  onDenied: OnDenied,
  platform: (typeof PLATFORMS)[number],
  guards: readonly CanActivate[] = [],
): Promise<TestResponse> {
  const { sendRequest } = await serveNest(
    {
      imports: [HeadgateModule.forRoot({ limits, onDenied })],
      controllers: [controller({ page: guards.map((guard) => UseGuards(guard)) })],
    },
    platform,
  );
  await sendRequest("/page");
  return sendRequest("/page");
}

test.each(PLATFORMS)(
  "body headers that onDenied never sent are removed, on %s",
  async (platform) => {
    const denied = await secondWith((context) => {
      const reply = context.switchToHttp().getResponse<FastifyReply>();
      reply.header("Content-Encoding", "gzip");
      reply.header("Content-Length", "3");
    }, platform);
    expect(denied.status).toBe(429);
    expect(denied.headers).not.toHaveProperty("content-encoding");
    expect(denied.json()).toMatchObject({ status: 429 });
  },
);

test("an allowed request has no headers of a denial on Fastify's raw response", async () => {
  const raw: CanActivate = {
    canActivate(context: ExecutionContext) {
      const reply = context.switchToHttp().getResponse<FastifyReply>();
      reply.hijack();
      reply.raw.end("raw");
      return new Promise<boolean>(() => {});
    },
  };
  const { status, text, headers } = await secondWith(() => "allow", "Fastify", [raw]);
  expect([status, text]).toEqual([200, "raw"]);
  expect(headers).not.toHaveProperty("retry-after");
  expect(headers).not.toHaveProperty("cache-control");
  expect(headers).not.toHaveProperty("x-ratelimit-limit");
});

test.each(PLATFORMS)(
  "onDenied finds the decision on the request, and its response reaches no filter, on %s",
  async (platform) => {
    const caught: unknown[] = [];
    class Filter {
      catch(error: unknown): void {
        caught.push(error);
      }
    }
    Catch()(Filter);
    const onDenied: OnDenied = (context) => {
      const http = context.switchToHttp();
      const { rateLimit } = http.getRequest<{ rateLimit?: { allowed: boolean } }>();
      http.getResponse<FastifyReply>().status(402).send(`allowed: ${rateLimit?.allowed}`);
    };
    const { sendRequest } = await serveNest(
      {
        imports: [HeadgateModule.forRoot({ limits, onDenied })],
        controllers: [controller({ page: [] })],
        filters: [new Filter()],
      },
      platform,
    );
    await sendRequest("/page");
    const { status, text } = await sendRequest("/page");
    expect([status, text, caught]).toEqual([402, "allowed: false", []]);
  },
);
