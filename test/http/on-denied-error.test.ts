import { gcra } from "@headgate/core";
import { HeadgateDeniedError } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeFrameworks } from "./support/describe-frameworks.ts";
import { secondsLeft } from "./support/seconds-left.ts";

const limits = gcra({ limit: 1, window: "1h" });

describeFrameworks(({ serve }) => {
  test('onDenied: "error" passes a HeadgateDeniedError to the error handler, with headers set', async () => {
    const { sendRequest, handled, errors } = await serve({ limits: { limits, onDenied: "error" } });
    await sendRequest();
    const denied = await sendRequest();
    expect(errors).toHaveLength(1);
    expect(errors[0]).toBeInstanceOf(HeadgateDeniedError);
    expect(errors[0]).toMatchObject({
      code: "HEADGATE_DENIED",
      status: 429,
      statusCode: 429,
      decision: { allowed: false, limit: 1, remaining: 0 },
    });
    expect(denied.status).toBe(429);
    expect(denied.json()).toMatchObject({ code: "HEADGATE_DENIED" });
    expect(denied.headers).toMatchObject({
      "retry-after": secondsLeft(3_600),
      "x-ratelimit-limit": "1",
    });
    expect(handled).toHaveLength(1);
  });

  test("the framework's own error handler responds with 429", async () => {
    const { sendRequest } = await serve({
      limits: { limits, onDenied: "error" },
      ownErrorHandler: false,
    });
    await sendRequest();
    const denied = await sendRequest();
    expect(denied.status).toBe(429);
    expect(denied.headers).toMatchObject({
      "retry-after": secondsLeft(3_600),
      "x-ratelimit-limit": "1",
    });
  });
});
