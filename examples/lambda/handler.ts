// A function of AWS Lambda behind an HTTP API, limited by the client's address.

import { createLimiter, gcra } from "@headgate/core";
import { subjectOfAddress } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

/** What is read of an event of the HTTP API, version 2.0 of its format. */
interface HttpEvent {
  readonly requestContext: { readonly http: { readonly sourceIp: string } };
}

interface HttpResult {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

// Outside the handler: made once for an instance, and used by all its calls.
const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
redis.on("error", (error) => console.error(error.message));

const limiter = createLimiter({
  name: "api",
  // Instances are short-lived, so they stay out of the registry.
  store: redisStore(redis, { registry: false }),
  limits: gcra({ limit: 5, window: "1s" }),
  // The first call of an instance waits for its connection as well.
  storeTimeout: "1s",
});

export async function handler(event: HttpEvent): Promise<HttpResult> {
  // An IPv6 client counts by its /64, because it may use any address in it.
  const client = subjectOfAddress(event.requestContext.http.sourceIp);
  const { allowed, retryAfterMs } = await limiter.consume(client);
  if (allowed) return { statusCode: 200, body: "hello" };
  const seconds = String(Math.ceil(retryAfterMs / 1_000));
  return { statusCode: 429, headers: { "retry-after": seconds }, body: "too many requests" };
}
