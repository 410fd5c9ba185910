import { memoryStore } from "@headgate/core";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { describe, test } from "vitest";
import { operationFor } from "../../../packages/core/src/operations/decide.ts";
import type { DecideMode } from "../../../packages/core/src/operations/decide-call.ts";
import type { Receipt } from "../../../packages/core/src/operations/refund.ts";
import { refund } from "../../../packages/core/src/operations/refund.ts";
import { compileLimiterPolicy } from "../../../packages/core/src/policy/compiled-policy.ts";
import { countersOf } from "../../../packages/core/src/policy/counters.ts";
import { useOwnDatabase } from "../../support/own-database.ts";
import { historiesOf, runHistories } from "../random/histories.ts";
import { KINDS, randomLimit } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomStart } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { decisionText } from "../support/decision-text.ts";
import { MicroClock } from "../support/micro-clock.ts";

/*
 * A charge may be refunded in parts. Lua and TypeScript report the same for each part, and leave the same room.
 */

const HISTORIES = historiesOf(10, 1_500);
const LENGTH = 75;

const redis = useOwnDatabase();

describe("a charge refunded in parts leaves no more room than it took", () => {
  test.each(KINDS)("to %s", async (kind) => {
    await runHistories(HISTORIES, (random, history) => compare(random, `${kind} ${history}`, kind));
  });
});

async function compare(
  random: Random,
  name: string,
  kind: Parameters<typeof randomLimit>[1],
): Promise<void> {
  const limit = randomLimit(random, kind, "small");
  const time = new MicroClock(randomStart(random));
  const memory = requireStore(memoryStore({ clock: time.clock }));
  const stores = [
    memory,
    requireStore(redisStore(redis, { clock: time.clock, prefix: "parts" })),
  ] as const;
  // Keys of a remote store serve in memory, too.
  const counted = compileLimiterPolicy(name, [limit], stores[1]);
  const most = counted.limits[0]?.limit as number;
  const counters = countersOf(counted, "somebody");
  const open: { left: number; readonly receipts: readonly Receipt[] }[] = [];

  /** Both stores decide alike. */
  async function decideBoth(mode: DecideMode, cost: number) {
    const decisions = await Promise.all(
      stores.map((store) => store.run(operationFor(mode), { cost, mode, counters })),
    );
    const reported = decisions.map(decisionText);
    claim(
      reported[0] === reported[1],
      () => `${reported.join(" is not ")}, ${JSON.stringify(limit)}`,
    );
    return decisions;
  }

  for (let step = 0; step < LENGTH; step += 1) {
    const cost = random.whole(1, most);
    const decisions = await decideBoth("charge", cost);
    if (decisions.every(({ allowed }) => allowed)) {
      const receipts = decisions.map((decision) => ({
        cost,
        counters,
        chargedAt: decision.now,
        generations: decision.counters.map(({ generation }) => generation),
      }));
      open.push({ left: cost, receipts });
    }
    if (open.length > 0 && random.chance(0.7)) {
      const charge = random.pick(open);
      const part = random.whole(1, charge.left);
      const given = await Promise.all(
        stores.map((store, i) =>
          store.run(refund, { ...(charge.receipts[i] as Receipt), cost: part }),
        ),
      );
      claim(given[0] === given[1], () => `${given}, ${JSON.stringify(limit)}`);
      charge.left -= part;
      if (charge.left === 0) open.splice(open.indexOf(charge), 1);
    }
    await decideBoth("inspect", cost);
    if (random.chance(0.5)) time.advance(BigInt(random.magnitude(1, 2_000_000)));
  }
}
