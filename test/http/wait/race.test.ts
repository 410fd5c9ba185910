import { setTimeout as delay } from "node:timers/promises";
import { gcra, slidingLog } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { Random } from "../../conformance/random/random.ts";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { eventually } from "../support/eventually.ts";
import { openRequest, statusOf, useStores } from "./waiting-clients.ts";

/** So many rounds behind each framework, in each place. */
const SEEDS = Array.from(
  { length: process.env["HEADGATE_LONG"] === "1" ? 30 : 2 },
  (_, i) => i + 1,
);

const CLIENTS = 80;

describeAdapters(({ serve }) => {
  describe.each(useStores())("with counts in $name", ({ createLimiter }) => {
    test.each(SEEDS)(
      "clients that disconnect at random times of their wait are not charged: seed %i",
      async (seed) => {
        const random = new Random(seed);
        const limiter = createLimiter({
          limits: [
            gcra({ limit: 1, window: "8ms", name: "pace" }),
            slidingLog({ limit: 1_000, window: "1h", name: "count" }),
          ],
        });
        const { port, handled, errors } = await serve({ limits: { limiter, wait: "1m" } });
        const used = async () => {
          const { limits } = await limiter.peek("127.0.0.1", { cost: 0 });
          return 1_000 - (limits[1]?.remaining ?? 0);
        };
        const statuses = await Promise.all(
          Array.from({ length: CLIENTS }, async () => {
            await delay(random.whole(0, 100));
            const { response, disconnect } = await openRequest(port, "/");
            if (random.chance(0.6)) void delay(random.whole(0, 400)).then(disconnect);
            return statusOf(await response);
          }),
        );
        // Those who stayed were all served, and those who left are charged only where their requests were handled.
        expect(new Set(statuses)).toEqual(new Set([0, 200]));
        await eventually(async () => expect(await used()).toBe(handled.length));
        expect(handled.length).toBeLessThan(CLIENTS);
        expect(handled.length).toBeGreaterThanOrEqual(statuses.filter(Boolean).length);
        expect(errors).toEqual([]);
      },
    );
  });
});
