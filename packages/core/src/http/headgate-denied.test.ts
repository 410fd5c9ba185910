import { expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { HeadgateDeniedError } from "./problem.ts";

test("HeadgateDeniedError has the decision, and the status as Express, Fastify, Koa and Nest read it", async () => {
  const limiter = createLimiter({ limits: fixedWindow({ limit: 1, window: "1m" }) });
  const decision = await limiter.consume("x", { cost: 2 });
  const error = new HeadgateDeniedError(decision);
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({
    name: "HeadgateDeniedError",
    code: "HEADGATE_DENIED",
    status: 429,
    statusCode: 429,
    expose: true,
    decision,
  });
  expect(error.message).toBe("Too Many Requests");
});
