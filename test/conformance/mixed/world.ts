import type {
  Clock,
  ConcurrencyLimit,
  CostByName,
  Decision,
  Limit,
  Limiter,
  LimiterOptions,
  LimitState,
  Store,
} from "@headgate/core";
import { concurrency, createLimiter } from "@headgate/core";
import { microsecondsOf, nameOf } from "../oracle/definition.ts";
import { isConcurrencyState, OracleSlots } from "../oracle/slots.ts";
import {
  KINDS,
  KINDS_WITHOUT_CALENDAR,
  largestOf,
  randomLimit,
  randomPolicy,
  withOtherCapacity,
  withOtherValues,
} from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart, randomSubjects } from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { claimInRange } from "../support/claim-in-range.ts";
import { claimNoLessRoom, startsWithRequest } from "../support/claim-no-less-room.ts";
import { Ledger, lowestCost } from "../support/ledger.ts";
import { MicroClock } from "../support/micro-clock.ts";

/** Where counts live, as two processes see it; in memory they are one. */
export interface Stores {
  readonly here: Store;
  readonly there: Store;
  /** Resolves when no call is under way. */
  settled(): Promise<void>;
}

/** What a world has beside policies and subjects. */
export interface Features {
  readonly denyCache: boolean;
  /** Units are leased: what is reported is what was known when they were taken. */
  readonly leases: boolean;
  readonly stepsBack: boolean;
  /** Real costs are known to a second world, where they are charged at once. */
  readonly reference: boolean;
  /** Beside units, there are places. */
  readonly slots: boolean;
  /** Both processes ask at once, and which of them is first is not said: then a history is not the same each time. */
  readonly races: boolean;
}

/** A denial is believed for a second, in microseconds. */
const DENY_CACHE_US = 1_000_000n;

/** Units that a limiter may hold ahead. */
const MAX_LEASED = 50;

/** The limiters that may hold them: the enforcing one, the one in shadow, and the one beside. */
const LEASING_LIMITERS = 3;

/** A request as it is asked; with `limits` under other numbers. */
export interface Request {
  readonly subjects: Record<string, string>;
  readonly options: { readonly cost: number; readonly limits?: readonly Limit[] };
}

/** A request that was admitted under a cost by name, and what each limit was charged in the end. */
interface RequestByName {
  readonly subjects: Request["subjects"];
  readonly decision: Decision;
  readonly real: CostByName;
  readonly inThisProcess: boolean;
}

/** A request that took places, and where. */
export interface SlotHolding {
  readonly decision: Decision;
  readonly inThisProcess: boolean;
  /** Of each limit that counts places. */
  readonly slots: readonly OracleSlots[];
}

/** A request that was admitted here, and what it will turn out to have cost. */
export interface Admitted {
  readonly decision: Decision;
  readonly request: Request;
  readonly units: number;
}

/** One policy with counters of its own, and the limiters that count on them. */
export interface Tier {
  readonly limits: readonly Limit[];
  /** Other numbers for them. */
  readonly plans: readonly (readonly Limit[])[];
  readonly dimensions: readonly string[];
  readonly enforcing: Limiter;
  readonly shadow: Limiter;
  /** What another process knows, who remembers no denials: the store's own word. */
  readonly otherProcess: Limiter;
  /** The same policy in the second world. */
  reference: Limiter | undefined;
  readonly ledger: Ledger;
  readonly admitted: Admitted[];
  /** Who holds places, by the limit's name and the subject. */
  readonly slots: Map<string, OracleSlots>;
  readonly holdings: SlotHolding[];
  last: Decision | undefined;
  /** When another process was admitted or charged something last: what is remembered here does not know of it. */
  otherProcessChargedAt: bigint;
}

/** Two tiers on one store and one clock, with everything that can happen to them. */
export class MixedWorld {
  readonly random: Random;
  readonly features: Features;
  readonly time: MicroClock;
  readonly tiers: readonly Tier[];
  readonly #stores: Stores;
  /** The moment by a clock that never stepped back. */
  #steady: bigint;
  #stepsBack = 0n;
  /** Denials that were answered from memory of them. */
  cachedDenials = 0;

  constructor(random: Random, features: Features, open: (clock: Clock) => Stores) {
    this.random = random;
    this.features = features;
    this.time = new MicroClock(randomStart(random));
    this.#steady = this.time.now;
    this.#stores = open(this.time.clock);
    const reference = features.reference ? open(this.time.clock).here : undefined;
    this.tiers = ["free", "premium"].map((name) => this.#openTier(name, reference));
  }

  #openTier(name: string, reference: Store | undefined): Tier {
    const { random, features } = this;
    const { here, there } = this.#stores;
    const kinds = features.stepsBack ? KINDS_WITHOUT_CALENDAR : KINDS;
    const written = features.leases
      ? [randomLimit(random, random.pick(kinds), "wide")]
      : [
          ...randomPolicy(random, random.whole(1, 3), random.whole(1, 2), kinds),
          ...(features.slots ? [randomConcurrency(random)] : []),
        ];
    // Windows that begin with a request begin elsewhere where another one was asked.
    const limits = written
      .map((limit) => ({ name: nameOf(limit), ...limit }))
      .map((limit) =>
        features.reference && startsWithRequest(limit)
          ? { ...limit, align: "clock" as const }
          : limit,
      );
    // By which numbers time passed is said by who wrote last: a second world, what is remembered of denials, and what memory
    // sweeps out as if unused do not know of others.
    const other = features.stepsBack ? withOtherValues : withOtherCapacity;
    const plans = [1, 2].map(() => limits.map((limit) => other(random, limit)));
    const lease = features.leases
      ? { lease: { max: MAX_LEASED, ttl: random.magnitude(10, 60_000) } }
      : {};
    const options = (more: Partial<LimiterOptions>): LimiterOptions =>
      ({ name, limits, storeTimeout: "1m", denyCache: false, ...lease, ...more }) as LimiterOptions;
    const { denyCache } = features;
    return {
      limits,
      plans: features.leases ? [] : plans,
      dimensions: [...new Set(limits.map(({ per = "default" }) => per))],
      enforcing: createLimiter(options({ store: here, denyCache })),
      shadow: createLimiter(options({ store: here, denyCache, shadow: true })),
      otherProcess: createLimiter(options({ store: there })),
      reference: reference && createLimiter(options({ store: reference })),
      ledger: new Ledger(),
      admitted: [],
      slots: new Map(),
      holdings: [],
      last: undefined,
      otherProcessChargedAt: -DENY_CACHE_US,
    };
  }

  /** Whether what is remembered of denials is all that there is to know. */
  isDenyCacheExact({ otherProcessChargedAt }: Tier): boolean {
    return this.time.now - otherProcessChargedAt >= DENY_CACHE_US;
  }

  /** Lets time pass, mostly little; where denials are remembered, mostly so little that they still are. */
  async elapse({ last }: Tier): Promise<void> {
    const { random, features } = this;
    const isShort = features.denyCache && random.chance(0.7);
    await this.advance(isShort ? BigInt(random.whole(0, 2_000)) : randomShortWait(random, last));
  }

  /** False, and nothing passes, when that would be past the latest moment. */
  async advance(microseconds: bigint): Promise<boolean> {
    // What is under way would take the clock back with it.
    await this.#stores.settled();
    if (!this.time.advance(microseconds)) return false;
    this.#steady += microseconds;
    return true;
  }

  stepBack(microseconds: bigint): void {
    this.time.now -= microseconds;
    this.#stepsBack += 1n;
  }

  randomSubjectsOf({ dimensions }: Tier): Record<string, string> {
    return randomSubjects(this.random, dimensions);
  }

  /** Something to ask for, now and then under other numbers. */
  randomRequest(tier: Tier): Request {
    const last = withoutSlots(tier.last);
    // Now and then the same again, as clients do.
    const before = Number(last?.cost);
    const isSame = before > 0 && this.random.chance(0.4);
    const cost = isSame ? before : randomCost(this.random, last);
    const bringsOthers = tier.plans.length > 0 && this.random.chance(0.2);
    return {
      subjects: this.randomSubjectsOf(tier),
      options: bringsOthers ? { cost, limits: this.random.pick(tier.plans) } : { cost },
    };
  }

  /** The limits of a request's subjects as they are, by the numbers that it brings. */
  async peekState({ otherProcess }: Tier, { subjects, options }: Request): Promise<Decision> {
    const peeked = await otherProcess.peek(subjects, { ...options, cost: 0 });
    claimInRange(peeked);
    return peeked;
  }

  /** Notes what was decided here or beside. Only what was decided here is given back: a denial that is remembered is believed. */
  async record(
    tier: Tier,
    request: Request,
    decision: Decision,
    inThisProcess: boolean,
  ): Promise<void> {
    claimInRange(decision, () => this.describe(tier));
    tier.last = decision;
    if (decision.source === "deny-cache") this.cachedDenials += 1;
    if (!decision.wouldAllow) return;
    if (!inThisProcess) tier.otherProcessChargedAt = this.time.now;
    tier.ledger.admit(decision, request.subjects, this.#steady);
    this.#hold(tier, request.subjects, decision, inThisProcess);
    const units = inThisProcess ? this.realCost(decision) : Number(decision.cost);
    if (inThisProcess && (tier.reference === undefined || units !== decision.cost)) {
      tier.admitted.push({ decision, request, units });
    }
    if (units > 0) await tier.reference?.charge(request.subjects, { cost: units });
  }

  /** Notes what was admitted under a cost by name, and settled: every limit admitted the least of these units, or more. */
  async recordByName(
    tier: Tier,
    { subjects, decision, real, inThisProcess }: RequestByName,
  ): Promise<void> {
    this.#hold(tier, subjects, decision, inThisProcess);
    const units = Math.min(...Object.keys(real).map((name) => leastUnits(decision, real, name)));
    tier.ledger.admit(decision, subjects, this.#steady);
    if (units < lowestCost(decision.cost)) tier.ledger.reduce(decision, units);
    const isFree = Object.values(real).every((each) => each === 0);
    if (!isFree) await tier.reference?.charge(subjects, { cost: real });
  }

  /** As much as was estimated, less, nothing, or more. */
  realCost(decision: Decision): number {
    const { random } = this;
    const cost = Number(decision.cost);
    if (random.chance(0.4)) return cost;
    if (random.chance(0.5)) return random.pick([0, random.whole(0, cost)]);
    return cost + (random.chance(0.8) ? random.whole(1, 20) : random.magnitude(1, 1_000_000));
  }

  /** Notes the places that a decision took. */
  #hold(
    tier: Tier,
    subjects: Request["subjects"],
    decision: Decision,
    inThisProcess: boolean,
  ): void {
    const taken: OracleSlots[] = [];
    for (const limit of tier.limits.filter(isConcurrency)) {
      const { cost } = decision;
      const number = typeof cost === "number" ? 1 : (cost[nameOf(limit)] ?? 0);
      if (number === 0) continue;
      const slots = this.slotsOf(tier, limit, subjects);
      slots.hold(decision, this.time.now, number);
      taken.push(slots);
    }
    if (taken.length > 0) tier.holdings.push({ decision, inThisProcess, slots: taken });
  }

  /** Who holds places of a limit, of these subjects. */
  slotsOf(tier: Tier, limit: ConcurrencyLimit, subjects: Request["subjects"]): OracleSlots {
    const id = `${nameOf(limit)} of ${subjects[limit.per ?? "default"]}`;
    const slots = tier.slots.get(id) ?? new OracleSlots(microsecondsOf(limit.ttl));
    tier.slots.set(id, slots);
    return slots;
  }

  /** As many places are free as nobody holds. */
  async claimSlots(tier: Tier): Promise<void> {
    const limits = tier.limits.filter(isConcurrency);
    if (limits.length === 0) return;
    const subjects = this.randomSubjectsOf(tier);
    const peeked = await this.peekState(tier, { subjects, options: { cost: 1 } });
    for (const limit of limits) {
      const state = peeked.limits.find(({ name }) => name === nameOf(limit)) as LimitState;
      const held = this.slotsOf(tier, limit, subjects).countHeld(this.time.now);
      const free = state.remaining - state.overdrawn;
      const explain = () => `${free} of ${state.limit}, ${held} held, ${this.describe(tier)}`;
      claim(free === state.limit - held, explain);
    }
  }

  /** In the second world there is at least as much room, where no request is charged less than it cost. */
  async claimNoMoreRoom(tier: Tier): Promise<void> {
    if (tier.reference === undefined) return;
    if (tier.admitted.some(({ decision, units }) => units > Number(decision.cost))) return;
    const subjects = this.randomSubjectsOf(tier);
    const options = { cost: randomCost(this.random, tier.last) };
    const [more, less] = await Promise.all([
      tier.reference.peek(subjects, options),
      tier.otherProcess.peek(subjects, options),
    ]);
    claimNoLessRoom(more, less, tier.limits);
    claim(
      more.limits.every(({ overdrawn }, i) => overdrawn <= (less.limits[i]?.overdrawn ?? 0)),
      () => `less is overdrawn than in the reference: ${JSON.stringify({ more, less })}`,
    );
  }

  /** Whether nobody was admitted more than was guaranteed, at the end. */
  claimGuarantee(): void {
    const units = this.features.leases ? BigInt(MAX_LEASED * LEASING_LIMITERS) : 0n;
    for (const { limits, plans, ledger } of this.tiers) {
      limits.forEach((limit, i) => {
        if (isConcurrency(limit)) return;
        const inForce = [limit, ...plans.map((plan) => plan[i] as Limit)] as const;
        const excess = ledger.findExcess(largestOf([...inForce]), {
          units,
          budgets: this.#stepsBack,
        });
        claim(excess === undefined, () => `${excess}, of ${JSON.stringify(inForce)}`);
      });
    }
  }

  describe({ limits, plans }: Tier): string {
    return `at ${this.time.now} of ${JSON.stringify({ limits, plans, ...this.features })}`;
  }

  async close(): Promise<void> {
    await this.#stores.settled();
    const limiters = this.tiers.flatMap(({ enforcing, shadow, otherProcess, reference }) => [
      enforcing,
      shadow,
      otherProcess,
      reference,
    ]);
    await Promise.all(limiters.map(async (limiter) => limiter?.close()));
  }
}

export function isConcurrency(limit: Limit): limit is ConcurrencyLimit {
  return limit.algorithm === "concurrency";
}

/** The limits that are charged. */
export function unitLimitsOf({ limits }: Tier): readonly Limit[] {
  return limits.filter((limit) => !isConcurrency(limit));
}

/** What was answered of units, near which costs are of interest. */
function withoutSlots(last: Decision | undefined): Decision | undefined {
  const limits = last?.limits.filter((state) => !isConcurrencyState(state)) ?? [];
  return last === undefined || limits.length === 0 ? undefined : { ...last, limits };
}

/** Few, that mostly lapse long after they were taken. */
function randomConcurrency(random: Random): Limit {
  const ttl = random.pick([20, 1_000, 60_000]);
  return concurrency({ limit: random.whole(1, 6), ttl, name: "slots" });
}

/** What a limit has admitted of a decision: nothing where it was left out, and no more where it was charged more afterwards. */
function leastUnits({ cost }: Decision, real: CostByName, name: string): number {
  const admitted = typeof cost === "number" ? cost : (cost[name] ?? 0);
  return Math.min(admitted, real[name] as number);
}

/** What is left of each limit, below zero where more is used. */
export function unitsLeftIn({ limits }: Decision): number[] {
  return limits.map(({ remaining, overdrawn }) => remaining - overdrawn);
}

/** Fails unless two looks at one moment say the same. */
export function claimUnchanged(before: Decision, after: Decision, explain: () => string): void {
  claimSame(after, before, () => `changed: ${explain()}`);
}
