import type { Decision, Limit } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { expect, test } from "vitest";
import type { Override } from "../../../packages/core/src/control/record.ts";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import { overridden } from "../../support/overriding.ts";
import { randomPolicy, withOtherValues } from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart, randomSubjects } from "../random/steps.ts";
import { claim } from "../support/claim.ts";
import { DeployedLimiter } from "../support/deployed-limiter.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * Overrides start, change and end: each decision equals that of a limiter with the effective limits of its subjects at that time.
 * Other suites compare changed limits with exact arithmetic.
 */

type Numbers = NonNullable<Override["limits"]>[string];
type Terms = Omit<Override, "from">;

const NUMBERS = ["limit", "burst", "capacity", "refill"] as const;

describeStores((tested) => {
  test("a decision under overrides equals one after a deploy of the same limits", async () => {
    const seen = { overridden: 0, ended: 0, shadowed: 0, calls: 0 };
    await tested.run(96, async (random) => {
      const time = new MicroClock(randomStart(random));
      const base = randomPolicy(random, random.whole(1, 3), random.whole(1, 3));
      const { store, override } = overridden(tested.open(time.clock));
      const limiter = createLimiter({ ...STORE_ALONE, name: "api", limits: base, store });
      const deployed = new DeployedLimiter(tested.open(time.clock), base);
      const dimensions = [...new Set(base.map(({ per = "default" }) => per))];
      const taken: (readonly [Decision, Decision])[] = [];
      let terms: readonly Terms[] = [];
      let last: Decision | undefined;
      for (let step = 0; step < 30; step += 1) {
        if (random.chance(0.3)) {
          terms = randomOverrides(random, base, dimensions, Number(time.now));
          override(...terms);
        }
        if (!time.advance(randomShortWait(random, last))) return;
        const subjects = randomSubjects(random, dimensions, 0.7);
        const called = random.chance(0.3)
          ? base.map((limit) => withOtherValues(random, limit))
          : undefined;
        const matching = terms.filter(({ subject }) => isOf(subject, subjects));
        const inForce = matching.filter(({ until }) => until === null || Number(time.now) < until);
        const limits = numbersUnder(called ?? base, inForce);
        const shadow = shadowUnder(inForce);
        const cost = randomCost(random, last);
        await deployed.deploy(limits);
        const context = () => JSON.stringify({ base, terms, called, limits, subjects, cost, step });
        const back = random.chance(0.15) ? taken.pop() : undefined;
        if (back !== undefined) {
          const [ours, theirs] = await Promise.all([
            limiter.refund(back[0]),
            deployed.refund(back[1]),
          ]);
          claim(ours === theirs, context);
        }
        const act = random.chance(0.8) ? "consume" : "peek";
        const [ours, theirs] = await Promise.all([
          limiter[act](subjects, { limits: called, cost }),
          deployed[act](subjects, cost),
        ]);
        claim(JSON.stringify(ours.limits) === JSON.stringify(theirs.limits), context);
        claim(ours.wouldAllow === theirs.allowed, context);
        claim(ours.allowed === (theirs.allowed || shadow), context);
        claim(ours.shadow === shadow, context);
        claim(ours.overridden === inForce.length > 0, context);
        if (act === "consume" && theirs.allowed) taken.push([ours, theirs]);
        if (inForce.length > 0) seen.overridden += 1;
        if (inForce.length < matching.length) seen.ended += 1;
        if (shadow && !ours.wouldAllow) seen.shadowed += 1;
        if (inForce.length > 1 && called !== undefined) seen.calls += 1;
        last = ours;
      }
    });
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10);
  });
});

/** At most one override for all subjects, and at most one for each of some sets of subjects. */
function randomOverrides(
  random: Random,
  base: readonly Limit[],
  dimensions: readonly string[],
  now: number,
): Terms[] {
  const named = [undefined, ...dimensions.map((dimension) => [dimension]), dimensions];
  const sets = [...new Map(named.map((set) => [JSON.stringify(set), set])).values()];
  const some = random.shuffle(sets).slice(0, random.whole(0, sets.length));
  return some.map((set) => {
    const own = base.filter(({ per = "default" }) => set === undefined || set.includes(per));
    const limits = own.filter(() => random.chance(0.7)).map((limit) => otherNumbers(random, limit));
    const subject = set && Object.fromEntries(set.map((dimension) => [dimension, "often"]));
    return {
      limiter: "api",
      ...(subject && { subject }),
      ...(limits.length > 0 && { limits: Object.fromEntries(limits) }),
      ...((limits.length === 0 || random.chance(0.2)) && { shadow: random.chance(0.5) }),
      until: random.chance(0.5) ? null : now + random.magnitude(1, 10_000_000_000),
    };
  });
}

/** A limit's name, and one or all of the numbers of another one like it. */
function otherNumbers(random: Random, limit: Limit): [name: string, numbers: Numbers] {
  const other = withOtherValues(random, limit) as Numbers;
  const all = NUMBERS.filter((number) => other[number] !== undefined);
  const some = random.chance(0.5) ? all : [random.pick(all)];
  return [limit.name as string, Object.fromEntries(some.map((number) => [number, other[number]]))];
}

function isOf(subject: Terms["subject"] = {}, subjects: Readonly<Record<string, string>>): boolean {
  return Object.entries(subject).every(([dimension, one]) => subjects[dimension] === one);
}

/** Those that name more dimensions come later, as they do where they are applied. */
function inOrder(terms: readonly Terms[]): Terms[] {
  const count = ({ subject = {} }: Terms) => Object.keys(subject).length;
  return terms.toSorted((a, b) => count(a) - count(b));
}

function numbersUnder(limits: readonly Limit[], terms: readonly Terms[]): readonly Limit[] {
  return limits.map((limit) => {
    const numbers = inOrder(terms).map((one) => one.limits?.[limit.name as string] ?? {});
    return Object.assign({}, limit, ...numbers) as Limit;
  });
}

function shadowUnder(terms: readonly Terms[]): boolean {
  return inOrder(terms).findLast(({ shadow }) => shadow !== undefined)?.shadow ?? false;
}
