import headgate, { byTier, createLimiter, gcra } from "@headgate/fastify";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";

const limits = gcra({ limit: 2, window: "1h" });

async function ready(build: (app: Fastify.FastifyInstance) => unknown) {
  const app = Fastify();
  onTestFinished(() => app.close());
  await build(app);
  await app.ready();
  return app;
}

test("app.headgate has the plugin's limiter", async () => {
  const limiter = createLimiter({ limits });
  const app = await ready((root) => root.register(headgate, { limiter }));
  expect(app.headgate.limiter).toBe(limiter);
  expect(app.headgate.tiers.size).toBe(0);
});

test("app.headgate has the limiter of each tier, and its limiter throws", async () => {
  const premium = gcra({ limit: 9, window: "1h" });
  const app = await ready((root) =>
    root.register(headgate, {
      limits: byTier({ free: limits, premium }, () => "free"),
    }),
  );
  expect([...app.headgate.tiers.keys()]).toEqual(["free", "premium"]);
  expect(await app.headgate.tiers.get("premium")?.consume("ann")).toMatchObject({ limit: 9 });
  expect(() => app.headgate.limiter).toThrow(/tiers/);
});

test("a scope has its own app.headgate, which other scopes do not see", async () => {
  const names: string[] = [];
  const app = await ready((root) => {
    for (const limit of [1, 2]) {
      root.register(async (scope) => {
        await scope.register(headgate, { limits: gcra({ limit, window: "1h" }) });
        scope.register(async (inner) => {
          names.push(inner.headgate.limiter.limits[0]?.name ?? "none");
        });
      });
    }
  });
  expect(names).toEqual(["1-per-1h", "2-per-1h"]);
  expect(app.hasDecorator("headgate")).toBe(false);
  expect(app.hasDecorator("rateLimit")).toBe(false);
});
