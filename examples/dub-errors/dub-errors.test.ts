import { expect, onTestFinished, test } from "vitest";
import { serve } from "../../test/support/serve.ts";
import { createApp } from "./express.ts";
import { createFastify } from "./fastify.ts";

const serveExpress = (): Promise<string> => serve(createApp());

async function serveFastify(): Promise<string> {
  const app = createFastify();
  onTestFinished(() => app.close());
  return app.listen({ host: "127.0.0.1", port: 0 });
}

test.each([
  ["Express", serveExpress],
  ["Fastify", serveFastify],
])("on %s a denial is one of the API's errors, with Headgate's headers", async (_, serveIt) => {
  const url = await serveIt();
  const ask = (path: string, token = "dub_ada") =>
    fetch(url + path, { headers: { authorization: `Bearer ${token}` } });

  const before = Date.now();
  const first = await ask("/links/github");
  expect(await first.json()).toEqual({ url: "https://github.com" });
  const missing = await ask("/links/nowhere");
  expect(missing.status).toBe(404);
  expect(await missing.json()).toMatchObject({ error: { code: "not_found" } });
  expect(missing.headers.get("x-ratelimit-remaining")).toBe("58");

  for (let i = 2; i < 60; i += 1) await (await ask("/links/github")).text();
  const denied = await ask("/links/github");
  expect(denied.status).toBe(429);
  expect(await denied.json()).toEqual({
    error: {
      code: "rate_limit_exceeded",
      message: "Too many requests.",
      doc_url: "https://dub.co/docs/api-reference/errors#rate-limit-exceeded",
    },
  });
  const { headers } = denied;
  expect(headers.get("content-type")).toMatch(/^application\/json/);
  expect(headers.get("x-ratelimit-limit")).toBe("60");
  expect(headers.get("x-ratelimit-remaining")).toBe("0");
  expect(headers.get("ratelimit-policy")).toBe('"60-per-1m";q=60;w=60');
  expect(headers.get("cache-control")).toBe("no-store");
  const reset = Number(headers.get("x-ratelimit-reset"));
  expect(reset).toBeGreaterThanOrEqual(before + 60_000);
  expect(reset).toBeLessThanOrEqual(Date.now() + 60_000);
  const retryAfter = Number(headers.get("retry-after"));
  expect(retryAfter).toBe(Math.ceil(retryAfter));
  expect(retryAfter).toBeGreaterThan(0);
  expect(retryAfter).toBeLessThanOrEqual(60);

  // Another workspace has its own.
  expect((await ask("/links/github", "dub_grace")).status).toBe(200);
});
