import { fc, test } from "@fast-check/vitest";
import { createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect } from "vitest";
import { isPlainObject } from "../../packages/core/src/common/type-guards.ts";
import { describeAdapters } from "../http/support/describe-frameworks.ts";
import { watchUnhandled } from "../http/support/unhandled.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { expectRejection, garbage } from "./garbage.ts";
import { runs } from "./hostile-texts.ts";
import { FROM_REDIS } from "./redis-of-our-own.ts";

/** An invalid cost is an error and charges nothing; a huge one is denied and charges nothing. */

const own = useOwnRedis();
const LIMIT = 1_000;
const NAME = "a day";
const limits = fixedWindow({ limit: LIMIT, window: "1d", name: NAME });

const cost = fc.oneof(
  garbage,
  fc.constantFrom<unknown>(
    ...[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, -0, 0, 0.1, 1.000001],
    ...[
      "1",
      "1e3",
      "Infinity",
      1n,
      -1n,
      2n ** 64n,
      [1],
      { valueOf: () => 1 },
      new Number(1),
      true,
      new Date(1),
    ],
    ...[
      2 ** 53,
      2 ** 53 - 1,
      2 ** 53 - 2,
      1e300,
      Number.MAX_VALUE,
      LIMIT,
      LIMIT + 1,
      1e15,
      2 ** 32,
      2 ** 31,
    ],
  ),
  fc.integer({ min: 1, max: 3 * LIMIT }),
  fc.maxSafeInteger(),
);

const isCost = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

/** An empty cost by name costs 1 unit of each limit. */
const isByName = (value: unknown) => isPlainObject(value) && Object.keys(value).length === 0;
const unitsOf = (value: unknown) => (isByName(value) ? 1 : value);

describe.each([
  ["memory", () => memoryStore()],
  ["Redis", () => redisStore(own.client)],
] as const)("%s", (_, make) => {
  test.prop([fc.array(cost, { minLength: 1, maxLength: 12 })], runs(80))(
    "charges what is a cost and fits, and nothing else",
    async (costs) => {
      await own.client.flushall();
      const limiter = createLimiter({ name: "api", limits, store: make(), ...FROM_REDIS });
      let used = 0;
      for (const units of costs) {
        const decided = limiter.consume("ann", { cost: units as never });
        // Undefined is the same as an omitted option.
        const charge =
          units === undefined ? 1 : (unitsOf(Object.is(units, -0) ? 0 : units) as number);
        if (!isCost(charge)) {
          const options = { cost: units as never };
          await expectRejection(decided, "HEADGATE_INVALID_COST");
          await expectRejection(limiter.peek("ann", options), "HEADGATE_INVALID_COST");
          await expectRejection(limiter.wait("ann", options), "HEADGATE_INVALID_COST");
        } else {
          const fits = used + charge <= LIMIT;
          expect(await decided).toMatchObject({
            allowed: fits,
            cost: isByName(units) ? { [NAME]: 1 } : charge,
          });
          if (fits) used += charge;
        }
        // A cost that never fits is denied, and the denial reports the remaining units.
        const { remaining } = await limiter.peek("ann", { cost: LIMIT + 1 });
        expect(remaining).toBe(LIMIT - used);
      }
      await limiter.close();
    },
  );
});

describeAdapters(({ serve }) => {
  test("whatever a cost function returns or throws, no request passes uncounted", async () => {
    const expectNothingUnhandled = watchUnhandled();
    let answer: () => unknown = () => 1;
    const options = { limits, store: memoryStore(), name: "api", cost: () => answer() as never };
    const site = await serve({ limits: options });
    let used = 0;
    const ways = fc.constantFrom("returns", "resolves", "throws", "rejects");
    await fc.assert(
      fc.asyncProperty(cost, ways, async (value, way) => {
        answer = () => {
          if (way === "throws") throw value;
          if (way === "returns") return value;
          return way === "resolves" ? Promise.resolve(value) : Promise.reject(value);
        };
        const before = site.handled.length;
        const { status, headers } = await site.sendRequest();
        const units = unitsOf(value) as number;
        const isAsked = (way === "returns" || way === "resolves") && isCost(units);
        const fits = isAsked && used + units <= LIMIT;
        // An error of the application may have its own status.
        if (way === "returns" || way === "resolves")
          expect(status).toBe(isAsked ? (fits ? 200 : 429) : 500);
        expect(site.handled.length - before).toBe(fits ? 1 : 0);
        if (fits) used += units;
        if (isAsked) expect(headers["x-ratelimit-remaining"]).toBe(String(LIMIT - used));
      }),
      runs(80),
    );
    await expectNothingUnhandled();
  });
});
