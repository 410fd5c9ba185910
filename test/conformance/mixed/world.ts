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

/** The stores of two processes; in memory they are one store. */
export interface Stores {
  readonly here: Store;
  readonly there: Store;
  /** Resolves when no call is in flight. */
  settled(): Promise<void>;
}

/** The optional features of a world. */
export interface Features {
  readonly denyCache: boolean;
  /** Limiters lease units, and report the state as of the lease. */
  readonly leases: boolean;
  readonly stepsBack: boolean;
  /** A second store, the reference, is charged the real costs immediately. */
  readonly reference: boolean;
  /** Policies include a concurrency limit. */
  readonly slots: boolean;
  /** Both processes send requests at once in an undefined order, so a history is not reproducible. */
  readonly races: boolean;
}

/** The lifetime of a cached denial, in microseconds. */
const DENY_CACHE_US = 1_000_000n;

/** The most units that a limiter leases. */
const MAX_LEASED = 50;

/** The limiters that lease units: the enforcing one, the shadow one, and that of the other process. */
const LEASING_LIMITERS = 3;

/** A request, which may bring limits of its own. */
export interface Request {
  readonly subjects: Record<string, string>;
  readonly options: { readonly cost: number; readonly limits?: readonly Limit[] };
}

/** An admitted request with a cost by name, and the real cost by name. */
interface RequestByName {
  readonly subjects: Request["subjects"];
  readonly decision: Decision;
  readonly real: CostByName;
  readonly inThisProcess: boolean;
}

/** An admitted request that holds slots. */
export interface SlotHolding {
  readonly decision: Decision;
  readonly inThisProcess: boolean;
  /** The slots of each concurrency limit. */
  readonly slots: readonly OracleSlots[];
}

/** A request that this process admitted, and its real cost. */
export interface Admitted {
  readonly decision: Decision;
  readonly request: Request;
  readonly units: number;
}

/** One policy with its own counters, and the limiters that use them. */
export interface Tier {
  readonly limits: readonly Limit[];
  /** Other limits of the same shapes. */
  readonly plans: readonly (readonly Limit[])[];
  readonly dimensions: readonly string[];
  readonly enforcing: Limiter;
  readonly shadow: Limiter;
  /** The limiter of another process, without a deny cache: it reports the state of the store. */
  readonly otherProcess: Limiter;
  /** The same policy on the reference store. */
  reference: Limiter | undefined;
  readonly ledger: Ledger;
  readonly admitted: Admitted[];
  /** The held slots by the name of the limit and the subject. */
  readonly slots: Map<string, OracleSlots>;
  readonly holdings: SlotHolding[];
  last: Decision | undefined;
  /** The time of the last charge by another process, which cached denials here do not reflect. */
  otherProcessChargedAt: bigint;
}

/** Two tiers on one store and one clock, with everything that can happen to them. */
export class MixedWorld {
  readonly random: Random;
  readonly features: Features;
  readonly time: MicroClock;
  readonly tiers: readonly Tier[];
  readonly #stores: Stores;
  /** The time by a clock that never steps back. */
  #steady: bigint;
  #stepsBack = 0n;
  /** The number of denials from the deny cache. */
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
    // A window that begins with a request begins at another time on the reference.
    const limits = written
      .map((limit) => ({ name: nameOf(limit), ...limit }))
      .map((limit) =>
        features.reference && startsWithRequest(limit)
          ? { ...limit, align: "clock" as const }
          : limit,
      );
    // Time passes under the limits of the last write. The reference, the deny cache and the sweep of memory do not know other
    // limits, so all limits of a plan drain equally fast.
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

  /** Whether cached denials reflect all charges. */
  isDenyCacheExact({ otherProcessChargedAt }: Tier): boolean {
    return this.time.now - otherProcessChargedAt >= DENY_CACHE_US;
  }

  /** Lets a mostly short time pass; with a deny cache mostly less than the lifetime of a denial. */
  async elapse({ last }: Tier): Promise<void> {
    const { random, features } = this;
    const isShort = features.denyCache && random.chance(0.7);
    await this.advance(isShort ? BigInt(random.whole(0, 2_000)) : randomShortWait(random, last));
  }

  /** Advances the clock. Returns false, without a change, if that would pass the latest time. */
  async advance(microseconds: bigint): Promise<boolean> {
    // Calls in flight would carry the earlier time.
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

  /** A random request, sometimes under other limits. */
  randomRequest(tier: Tier): Request {
    const last = withoutSlots(tier.last);
    // Clients often repeat the same cost.
    const before = Number(last?.cost);
    const isSame = before > 0 && this.random.chance(0.4);
    const cost = isSame ? before : randomCost(this.random, last);
    const bringsOthers = tier.plans.length > 0 && this.random.chance(0.2);
    return {
      subjects: this.randomSubjectsOf(tier),
      options: bringsOthers ? { cost, limits: this.random.pick(tier.plans) } : { cost },
    };
  }

  /** Peeks at the subjects of a request with a cost of 0, under the limits of the request. */
  async peekState({ otherProcess }: Tier, { subjects, options }: Request): Promise<Decision> {
    const peeked = await otherProcess.peek(subjects, { ...options, cost: 0 });
    claimInRange(peeked);
    return peeked;
  }

  /** Records a decision. Only this process settles or refunds, since its deny cache does not see refunds by another process. */
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

  /** Records a request with a cost by name that was settled. Each limit admitted at least the lowest of the real costs. */
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

  /** A random real cost: the estimate, less, 0, or more. */
  realCost(decision: Decision): number {
    const { random } = this;
    const cost = Number(decision.cost);
    if (random.chance(0.4)) return cost;
    if (random.chance(0.5)) return random.pick([0, random.whole(0, cost)]);
    return cost + (random.chance(0.8) ? random.whole(1, 20) : random.magnitude(1, 1_000_000));
  }

  /** Records the slots of a decision. */
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

  /** The slots of a limit for these subjects. */
  slotsOf(tier: Tier, limit: ConcurrencyLimit, subjects: Request["subjects"]): OracleSlots {
    const id = `${nameOf(limit)} of ${subjects[limit.per ?? "default"]}`;
    const slots = tier.slots.get(id) ?? new OracleSlots(microsecondsOf(limit.ttl));
    tier.slots.set(id, slots);
    return slots;
  }

  /** Fails unless each concurrency limit reports as many free slots as are not held. */
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

  /** Fails unless the reference has at least as much room, as long as no charge is below the real cost. */
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

  /** Fails if the history admitted more than a limit guarantees. */
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

/** The limits of units. */
export function unitLimitsOf({ limits }: Tier): readonly Limit[] {
  return limits.filter((limit) => !isConcurrency(limit));
}

/** The last decision without its concurrency limits, for costs near the units left. */
function withoutSlots(last: Decision | undefined): Decision | undefined {
  const limits = last?.limits.filter((state) => !isConcurrencyState(state)) ?? [];
  return last === undefined || limits.length === 0 ? undefined : { ...last, limits };
}

/** A concurrency limit of few slots, mostly with a long time to live. */
function randomConcurrency(random: Random): Limit {
  const ttl = random.pick([20, 1_000, 60_000]);
  return concurrency({ limit: random.whole(1, 6), ttl, name: "slots" });
}

/** The units of a decision that a limit admitted: at most the estimate, and 0 if the cost left the limit out. */
function leastUnits({ cost }: Decision, real: CostByName, name: string): number {
  const admitted = typeof cost === "number" ? cost : (cost[name] ?? 0);
  return Math.min(admitted, real[name] as number);
}

/** The units left of each limit, negative when overdrawn. */
export function unitsLeftIn({ limits }: Decision): number[] {
  return limits.map(({ remaining, overdrawn }) => remaining - overdrawn);
}

/** Fails unless two peeks at one time report the same. */
export function claimUnchanged(before: Decision, after: Decision, explain: () => string): void {
  claimSame(after, before, () => `changed: ${explain()}`);
}
