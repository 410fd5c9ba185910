import { gcra, memoryStore, rateLimit } from "@headgate/express";
import type { RequestHandler } from "express";
import { expect, test } from "vitest";
import { watchWarnings } from "../support/warnings.ts";
import { describeExpress } from "./describe-express.ts";

const limits = gcra({ limit: 1, window: "1h" });

const MAKERS: Record<string, RequestHandler> = {
  "in a handler": (req, res, next) => rateLimit({ limits })(req, res, next),
  "in a handler, some time later": async (req, res, next) => {
    await new Promise(setImmediate);
    rateLimit({ limits })(req, res, next);
  },
};

describeExpress(({ serve }) => {
  /** How ten requests are answered, and what the operator is warned of. */
  async function askTenTimes(handler: RequestHandler) {
    const warnings = watchWarnings();
    const { sendRequest } = await serve((app) => app.use(handler, (_req, res) => res.end("ok")));
    const statuses = new Set<number>();
    for (let i = 0; i < 10; i += 1) statuses.add((await sendRequest(`/?tenant=${i % 9}`)).status);
    return { statuses: [...statuses], codes: warnings.map(({ code }) => code) };
  }

  test.each(Object.entries(MAKERS))(
    "middleware created for each request, %s, limits nothing and is not reported",
    async (_, handler) => {
      const { codes } = await askTenTimes(handler);
      expect(codes).toEqual(["HEADGATE_CREATED_PER_REQUEST"]);
    },
  );

  test("middleware created for each request with a shared store is reported, although it limits", async () => {
    const store = memoryStore();
    const { statuses, codes } = await askTenTimes((req, res, next) => {
      rateLimit({ name: "api", limits, store })(req, res, next);
    });
    expect([statuses, codes]).toEqual([[200, 429], []]);
  });

  test("middleware created once for each tenant is reported", async () => {
    const made = new Map<unknown, RequestHandler>();
    const { statuses, codes } = await askTenTimes((req, res, next) => {
      const { tenant } = req.query;
      const limit = made.get(tenant) ?? (rateLimit({ limits }) as RequestHandler);
      made.set(tenant, limit);
      limit(req, res, next);
    });
    expect([statuses, codes]).toEqual([[200, 429], []]);
  });
});
