import { fc } from "@fast-check/vitest";
import { gcra } from "@headgate/core";
import { byHeader } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { describeAdapters } from "../http/support/describe-frameworks.ts";
import { startRedis } from "../support/redis-process.ts";
import { expectNothingOf, headerValue, MARK } from "./header-value.ts";
import { runs } from "./hostile-texts.ts";
import { requestOf, sendRaw } from "./raw-http.ts";

/** While Redis is unreachable, no answer, header or warning contains a client's text. */

describeAdapters(({ serve }) => {
  test.each([
    ["local", [200, 429]],
    ["allow", [200, 200]],
    ["deny", [503, 503]],
  ] as const)(
    "while Redis is down, %s tells clients nothing of each other",
    async (onUnavailable, statuses) => {
      const server = await startRedis();
      const client = new Redis(server.socket);
      client.on("error", () => {});
      await client.ping();
      await server.stop();
      const limits = gcra({ limit: 1, window: "1h", name: 'a"b\\c, "d";q=9' });
      const store = redisStore(client, { prefix: "web" });
      const { port, warnings } = await serve({
        ownErrorHandler: false,
        limits: { name: "api", limits, store, key: byHeader("x-key"), onUnavailable },
      });
      const values = fc.uniqueArray(headerValue, { minLength: 1, maxLength: 4 });
      const sent = new Set<string>();
      await fc.assert(
        fc.asyncProperty(values, async (texts) => {
          for (const text of texts) {
            const expected = sent.has(text) ? statuses.slice(1) : statuses;
            for (const status of expected) {
              const answer = await sendRaw(port, requestOf("/", `X-Key: ${text}`));
              expect(answer.status).toBe(status);
              expectNothingOf(answer, [MARK, server.socket]);
            }
            sent.add(text);
          }
        }),
        runs(4),
      );
      expect(JSON.stringify(warnings)).not.toContain(MARK);
      client.disconnect();
    },
  );
});
