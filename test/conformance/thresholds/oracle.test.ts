import type { Decision, Limit } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import type { Account, Definition } from "../oracle/account.ts";
import { blockingOf } from "../oracle/counter.ts";
import { definitionOf, nameOf } from "../oracle/definition.ts";
import { runsAllHistories, SCALE } from "../random/histories.ts";
import { KINDS, randomLimit, randomPolicy, withOtherCapacity } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import {
  changeTimesOf,
  randomCost,
  randomStart,
  randomSubjects,
  randomWait,
} from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { ThresholdRecorder } from "../support/record-thresholds.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * The published thresholds match exact arithmetic: the charge that reaches the units of a threshold publishes it, unless this or a
 * higher threshold was published in the same window.
 */

/** Hundredths of a limit. */
type Percents = readonly number[];

type Notifying = Exclude<Limit, { algorithm: "concurrency" }>;

interface PublishedThreshold {
  readonly name: string;
  readonly subject: string;
  readonly threshold: number;
  readonly used: number;
}

/** What is known of one limit and one subject. */
interface Line {
  account: Account;
  definition: Definition;
  published: bigint;
  until: bigint;
}

/** Limits of one policy, and all of their subjects. */
class Model {
  readonly #limits: readonly Notifying[];
  readonly #percents: readonly Percents[];
  readonly #lines = new Map<string, Line>();

  constructor(limits: readonly Notifying[], percents: readonly Percents[]) {
    this.#limits = limits;
    this.#percents = percents;
  }

  charge(
    subjects: Readonly<Record<string, string>>,
    cost: number,
    now: bigint,
    plan: readonly Notifying[],
  ): readonly PublishedThreshold[] {
    return this.#limits.flatMap((limit, i) => {
      const line = this.#lineOf(i, subjects, plan);
      line.account.charge(BigInt(cost), now);
      return this.#publish(limit, i, line, subjects[limit.per ?? "default"] ?? "", now);
    });
  }

  /** True if every limit has room. */
  fits(
    subjects: Readonly<Record<string, string>>,
    cost: number,
    now: bigint,
    plan: readonly Notifying[],
  ): boolean {
    return this.#limits.every((_, i) => {
      const { account, definition } = this.#lineOf(i, subjects, plan);
      return BigInt(cost) <= definition.capacity && account.untilFits(BigInt(cost), now) === 0n;
    });
  }

  refund(
    subjects: Readonly<Record<string, string>>,
    cost: number,
    charged: bigint,
    now: bigint,
  ): void {
    for (const i of this.#limits.keys()) {
      this.#lineOf(i, subjects, this.#limits).account.refund(BigInt(cost), charged, now);
    }
  }

  reset(subjects: Readonly<Record<string, string>>): void {
    for (const [i, { per = "default" }] of this.#limits.entries()) {
      this.#lines.delete(`${i} ${subjects[per]}`);
    }
  }

  /** The most units that any limit has used. */
  used(subjects: Readonly<Record<string, string>>, now: bigint): bigint {
    const all = this.#limits.map((_, i) => {
      const { account, definition } = this.#lineOf(i, subjects, this.#limits);
      return definition.capacity - account.remaining(now);
    });
    return all.toSorted((a, b) => (a < b ? -1 : 1)).at(-1) ?? 0n;
  }

  #lineOf(i: number, subjects: Readonly<Record<string, string>>, plan: readonly Notifying[]): Line {
    const limit = plan[i] as Notifying;
    const key = `${i} ${subjects[limit.per ?? "default"]}`;
    const definition = definitionOf(limit);
    const line = this.#lines.get(key);
    if (line === undefined) {
      const made = { account: definition.open(), definition, published: 0n, until: 0n };
      this.#lines.set(key, made);
      return made;
    }
    line.account = definition.adopt(line.account);
    line.definition = definition;
    return line;
  }

  #publish(
    limit: Notifying,
    i: number,
    line: Line,
    subject: string,
    now: bigint,
  ): readonly PublishedThreshold[] {
    const { account, definition } = line;
    const used = definition.capacity - account.remaining(now);
    const units = (this.#percents[i] as Percents).map((percent) => ({
      percent,
      units: (BigInt(percent) * definition.capacity + 99n) / 100n,
    }));
    const reached = units.filter((one) => one.units > 0n && one.units <= used);
    if (reached.length === 0) return [];
    if (now >= line.until) line.published = 0n;
    const fresh = reached.filter((one) => one.units > line.published);
    const until = now + this.#repeatsAfter(limit, line, now);
    if (fresh.length > 0) {
      line.published = fresh.at(-1)?.units ?? 0n;
      line.until = until;
    } else if (line.until > until) line.until = until;
    return fresh.map(({ percent }) => ({
      name: nameOf(limit),
      subject,
      threshold: percent / 100,
      used: Number(used),
    }));
  }

  /** Microseconds until a threshold that is published now may be published again. */
  #repeatsAfter(limit: Notifying, { account, definition }: Line, now: bigint): bigint {
    // In a fixed window, the units stay used until it ends.
    if (limit.algorithm === "fixedWindow") return account.untilReset(now);
    return blockingOf({ ...limit, block: 1 } as Limit, definition)?.quiet as bigint;
  }
}

const LENGTH = 300;
const done = { requests: 0, charged: 0, settled: 0, refunded: 0, published: 0, severalAtOnce: 0 };
const LEAST = {
  requests: 35_000,
  charged: 3_000,
  settled: 3_000,
  refunded: 2_000,
  published: 2_500,
  severalAtOnce: 400,
};

describeStores((tested) => {
  let opened = 0;

  async function compare(
    random: Random,
    recorder: ThresholdRecorder,
    written: readonly Limit[],
  ): Promise<void> {
    opened += 1;
    const name = `thresholds-${opened}`;
    const time = new MicroClock(randomStart(random));
    const percents = written.map(() => randomPercents(random));
    const limits = written.map((limit, i) => withPercents(limit, percents[i] as Percents));
    const other = limits.map((limit) => withOtherCapacity(random, limit) as Notifying);
    const model = new Model(limits, percents);
    const store = tested.open(time.clock);
    const limiter = createLimiter({ ...STORE_ALONE, name, limits, store });
    const dimensions = [...new Set(limits.map(({ per = "default" }) => per))];
    let admitted: { decision: Decision; subjects: Record<string, string>; at: bigint }[] = [];
    let last: Decision | undefined;

    function claimPublished(expected: readonly PublishedThreshold[], context: () => string): void {
      const actual = recorder.take(name).map(({ name, per, subject, threshold, used }) => ({
        name,
        subject: subject[per] ?? "",
        threshold,
        used,
      }));
      done.published += actual.length;
      if (actual.length > 1) done.severalAtOnce += 1;
      const isSame = JSON.stringify(inOrder(actual)) === JSON.stringify(inOrder(expected));
      claim(
        isSame,
        () => `published ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}, ${context()}`,
      );
    }

    for (let step = 0; step < LENGTH; step += 1) {
      time.advance(randomWait(random, last, last === undefined ? [] : changeTimesOf(last)));
      const subjects = randomSubjects(random, dimensions);
      const act = random.fraction();
      const context = () => `step ${step} at ${time.now} of ${JSON.stringify([limits, other])}`;
      if (act < 0.1) {
        const { capacity } = definitionOf(random.pick(limits));
        const cost = random.magnitude(1, Math.max(1, Number(capacity)));
        // A counter must be able to hold the units.
        if (model.used(subjects, time.now) + BigInt(cost) > 1_900_000_000n) continue;
        await limiter.charge(subjects, { cost });
        claimPublished(model.charge(subjects, cost, time.now, limits), context);
        done.charged += 1;
      } else if (act < 0.2 && admitted.length > 0) {
        const one = random.pick(admitted.slice(-20));
        admitted = admitted.filter((each) => each !== one);
        const was = Number(one.decision.cost);
        const units = random.chance(0.5) ? random.whole(0, was) : was + random.whole(1, 10);
        await limiter.settle(one.decision, units);
        if (units < was) model.refund(one.subjects, was - units, one.at, time.now);
        const expected =
          units > was ? model.charge(one.subjects, units - was, time.now, limits) : [];
        claimPublished(expected, () => `settled at ${units} of ${was}, ${context()}`);
        done.settled += 1;
      } else if (act < 0.28 && admitted.length > 0) {
        const one = random.pick(admitted.slice(-20));
        admitted = admitted.filter((each) => each !== one);
        await limiter.refund(one.decision);
        model.refund(one.subjects, Number(one.decision.cost), one.at, time.now);
        claimPublished([], context);
        done.refunded += 1;
      } else if (act < 0.3) {
        await limiter.reset(subjects);
        model.reset(subjects);
        admitted = admitted.filter((one) =>
          dimensions.every((per) => one.subjects[per] !== subjects[per]),
        );
        claimPublished([], context);
      } else if (act < 0.35) {
        await limiter.peek(subjects, { cost: randomCost(random, last) });
        claimPublished([], context);
      } else {
        const cost = randomCost(random, last);
        const plan = random.chance(0.15) ? other : limits;
        const options = plan === limits ? { cost } : { cost, limits: plan };
        last = await limiter.consume(subjects, options);
        const fits = model.fits(subjects, cost, time.now, plan);
        claim(last.allowed === fits, () => `allowed ${last?.allowed}, not ${fits}, ${context()}`);
        claimPublished(fits ? model.charge(subjects, cost, time.now, plan) : [], context);
        if (fits && plan === limits) admitted.push({ decision: last, subjects, at: time.now });
        done.requests += 1;
      }
    }
  }

  describe("thresholds are published as the oracle publishes them", () => {
    test.each(KINDS)("%s", async (kind) => {
      const recorder = new ThresholdRecorder();
      await tested.run(24, (random) =>
        compare(random, recorder, [
          randomLimit(random, kind, random.chance(0.7) ? "small" : "wide", { name: "one" }),
        ]),
      );
    });

    test("several limits, in several dimensions", async () => {
      const recorder = new ThresholdRecorder();
      await tested.run(36, (random) =>
        compare(random, recorder, randomPolicy(random, random.whole(2, 5), random.whole(1, 3))),
      );
    });
  });
});

test("the comparison covers enough operations and thresholds", ({ skip }) => {
  skip(!runsAllHistories, "one history is run alone");
  skip(done.requests === 0, "the other tests of this file were not run");
  for (const [operation, least] of Object.entries(LEAST)) {
    expect(done[operation as keyof typeof done], operation).toBeGreaterThanOrEqual(least * SCALE);
  }
});

function randomPercents(random: Random): Percents {
  const count = random.pick([1, 2, 2, 3, 8]);
  const all = Array.from({ length: count }, () => random.pick([random.whole(1, 100), 80, 100, 7]));
  return [...new Set(all)].sort((a, b) => a - b);
}

function withPercents(limit: Limit, percents: Percents): Notifying {
  return { ...limit, notifyAt: percents.map((percent) => percent / 100) } as Notifying;
}

function inOrder(thresholds: readonly PublishedThreshold[]): readonly string[] {
  return thresholds.map((one) => JSON.stringify(one)).sort();
}
