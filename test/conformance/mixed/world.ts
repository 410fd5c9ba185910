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
import { isOfPlaces, OraclePlaces } from "../oracle/slots.ts";
import {
  KINDS,
  largestOf,
  randomLimit,
  randomPolicy,
  UNDATED,
  withOtherCapacity,
  withOtherNumbers,
} from "../random/limits.ts";
import type { Random } from "../random/random.ts";
import { randomCost, randomShortWait, randomStart, randomSubjects } from "../random/steps.ts";
import { claim, claimSame } from "../support/claim.ts";
import { claimInRange } from "../support/claim-in-range.ts";
import { beginsAnywhere, claimRoom } from "../support/claim-no-less-room.ts";
import { Ledger, leastOf } from "../support/ledger.ts";
import { MicroClock } from "../support/micro-clock.ts";

/** Where counts live, as two processes see it; in memory they are one. */
export interface Place {
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
  readonly truth: boolean;
  /** Beside units, there are places. */
  readonly places: boolean;
  /** Both processes ask at once, and which of them is first is not said: then a history is not the same each time. */
  readonly races: boolean;
}

/** A denial is believed for a second, in microseconds. */
const BELIEVED_US = 1_000_000n;

/** Units that a limiter may hold ahead. */
const HELD = 50;

/** The limiters that may hold them: the enforcing one, the one in shadow, and the one beside. */
const HOLDERS = 3;

/** A request as it is asked; with `limits` under other numbers. */
export interface Request {
  readonly subjects: Record<string, string>;
  readonly options: { readonly cost: number; readonly limits?: readonly Limit[] };
}

/** A request that was admitted under a cost by name, and what each limit was charged in the end. */
interface Named {
  readonly subjects: Request["subjects"];
  readonly decision: Decision;
  readonly real: CostByName;
  readonly isHere: boolean;
}

/** A request that took places, and where. */
export interface Holding {
  readonly decision: Decision;
  readonly isHere: boolean;
  /** Of each limit that counts places. */
  readonly held: readonly OraclePlaces[];
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
  readonly beside: Limiter;
  /** The same policy in the second world. */
  truth: Limiter | undefined;
  readonly ledger: Ledger;
  readonly admitted: Admitted[];
  /** Who holds places, by the limit's name and the subject. */
  readonly places: Map<string, OraclePlaces>;
  readonly holdings: Holding[];
  last: Decision | undefined;
  /** When another process was admitted or charged something last: what is remembered here does not know of it. */
  spentBeside: bigint;
}

/** Two tiers on one store and one clock, with everything that can happen to them. */
export class MixedWorld {
  readonly random: Random;
  readonly features: Features;
  readonly time: MicroClock;
  readonly tiers: readonly Tier[];
  readonly #place: Place;
  /** The moment by a clock that never stepped back. */
  #steady: bigint;
  #stepsBack = 0n;
  /** Denials that were answered from memory of them. */
  remembered = 0;

  constructor(random: Random, features: Features, open: (clock: Clock) => Place) {
    this.random = random;
    this.features = features;
    this.time = new MicroClock(randomStart(random));
    this.#steady = this.time.now;
    this.#place = open(this.time.clock);
    const truth = features.truth ? open(this.time.clock).here : undefined;
    this.tiers = ["free", "premium"].map((name) => this.#openTier(name, truth));
  }

  #openTier(name: string, truth: Store | undefined): Tier {
    const { random, features } = this;
    const { here, there } = this.#place;
    const kinds = features.stepsBack ? UNDATED : KINDS;
    const written = features.leases
      ? [randomLimit(random, random.pick(kinds), "wide")]
      : [
          ...randomPolicy(random, random.whole(1, 3), random.whole(1, 2), kinds),
          ...(features.places ? [randomPlaces(random)] : []),
        ];
    // Windows that begin with a request begin elsewhere where another one was asked.
    const limits = written
      .map((limit) => ({ name: nameOf(limit), ...limit }))
      .map((limit) =>
        features.truth && beginsAnywhere(limit) ? { ...limit, align: "clock" as const } : limit,
      );
    // By which numbers time passed is said by who wrote last: a second world, what is remembered of denials, and what memory
    // sweeps out as if unused do not know of others.
    const other = features.stepsBack ? withOtherNumbers : withOtherCapacity;
    const plans = [1, 2].map(() => limits.map((limit) => other(random, limit)));
    const lease = features.leases
      ? { lease: { max: HELD, ttl: random.magnitude(10, 60_000) } }
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
      beside: createLimiter(options({ store: there })),
      truth: truth && createLimiter(options({ store: truth })),
      ledger: new Ledger(),
      admitted: [],
      places: new Map(),
      holdings: [],
      last: undefined,
      spentBeside: -BELIEVED_US,
    };
  }

  /** Whether what is remembered of denials is all that there is to know. */
  knowsAll({ spentBeside }: Tier): boolean {
    return this.time.now - spentBeside >= BELIEVED_US;
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
    await this.#place.settled();
    if (!this.time.advance(microseconds)) return false;
    this.#steady += microseconds;
    return true;
  }

  stepBack(microseconds: bigint): void {
    this.time.now -= microseconds;
    this.#stepsBack += 1n;
  }

  subjectsOf({ dimensions }: Tier): Record<string, string> {
    return randomSubjects(this.random, dimensions);
  }

  /** Something to ask for, now and then under other numbers. */
  requestOf(tier: Tier): Request {
    const last = unitsIn(tier.last);
    // Now and then the same again, as clients do.
    const before = Number(last?.cost);
    const isSame = before > 0 && this.random.chance(0.4);
    const cost = isSame ? before : randomCost(this.random, last);
    const bringsOthers = tier.plans.length > 0 && this.random.chance(0.2);
    return {
      subjects: this.subjectsOf(tier),
      options: bringsOthers ? { cost, limits: this.random.pick(tier.plans) } : { cost },
    };
  }

  /** The limits of a request's subjects as they are, by the numbers that it brings. */
  async look({ beside }: Tier, { subjects, options }: Request): Promise<Decision> {
    const looked = await beside.peek(subjects, { ...options, cost: 0 });
    claimInRange(looked);
    return looked;
  }

  /** Notes what was decided here or beside. Only what was decided here is given back: a denial that is remembered is believed. */
  async note(tier: Tier, request: Request, decision: Decision, isHere: boolean): Promise<void> {
    claimInRange(decision, () => this.describe(tier));
    tier.last = decision;
    if (decision.source === "deny-cache") this.remembered += 1;
    if (!decision.wouldAllow) return;
    if (!isHere) tier.spentBeside = this.time.now;
    tier.ledger.admit(decision, request.subjects, this.#steady);
    this.#hold(tier, request.subjects, decision, isHere);
    const units = isHere ? this.realCost(decision) : Number(decision.cost);
    if (isHere && (tier.truth === undefined || units !== decision.cost)) {
      tier.admitted.push({ decision, request, units });
    }
    if (units > 0) await tier.truth?.charge(request.subjects, { cost: units });
  }

  /** Notes what was admitted under a cost by name, and settled: every limit admitted the least of these units, or more. */
  async noteByName(tier: Tier, { subjects, decision, real, isHere }: Named): Promise<void> {
    this.#hold(tier, subjects, decision, isHere);
    const units = Math.min(...Object.keys(real).map((name) => leastUnits(decision, real, name)));
    tier.ledger.admit(decision, subjects, this.#steady);
    if (units < leastOf(decision.cost)) tier.ledger.reduce(decision, units);
    const isFree = Object.values(real).every((each) => each === 0);
    if (!isFree) await tier.truth?.charge(subjects, { cost: real });
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
  #hold(tier: Tier, subjects: Request["subjects"], decision: Decision, isHere: boolean): void {
    const held: OraclePlaces[] = [];
    for (const limit of tier.limits.filter(isConcurrency)) {
      const { cost } = decision;
      const number = typeof cost === "number" ? 1 : (cost[nameOf(limit)] ?? 0);
      if (number === 0) continue;
      const places = this.placesOf(tier, limit, subjects);
      places.hold(decision, this.time.now, number);
      held.push(places);
    }
    if (held.length > 0) tier.holdings.push({ decision, isHere, held });
  }

  /** Who holds places of a limit, of these subjects. */
  placesOf(tier: Tier, limit: ConcurrencyLimit, subjects: Request["subjects"]): OraclePlaces {
    const id = `${nameOf(limit)} of ${subjects[limit.per ?? "default"]}`;
    const places = tier.places.get(id) ?? new OraclePlaces(microsecondsOf(limit.ttl));
    tier.places.set(id, places);
    return places;
  }

  /** As many places are free as nobody holds. */
  async claimPlaces(tier: Tier): Promise<void> {
    const limits = tier.limits.filter(isConcurrency);
    if (limits.length === 0) return;
    const subjects = this.subjectsOf(tier);
    const looked = await this.look(tier, { subjects, options: { cost: 1 } });
    for (const limit of limits) {
      const state = looked.limits.find(({ name }) => name === nameOf(limit)) as LimitState;
      const taken = this.placesOf(tier, limit, subjects).taken(this.time.now);
      const free = state.remaining - state.overdrawn;
      const explain = () => `${free} of ${state.limit}, ${taken} taken, ${this.describe(tier)}`;
      claim(free === state.limit - taken, explain);
    }
  }

  /** In the second world there is at least as much room, where no request is charged less than it cost. */
  async claimNoMoreRoom(tier: Tier): Promise<void> {
    if (tier.truth === undefined) return;
    if (tier.admitted.some(({ decision, units }) => units > Number(decision.cost))) return;
    const subjects = this.subjectsOf(tier);
    const options = { cost: randomCost(this.random, tier.last) };
    const [more, less] = await Promise.all([
      tier.truth.peek(subjects, options),
      tier.beside.peek(subjects, options),
    ]);
    claimRoom(more, less, tier.limits);
    claim(
      more.limits.every(({ overdrawn }, i) => overdrawn <= (less.limits[i]?.overdrawn ?? 0)),
      () => `less is overdrawn than in truth: ${JSON.stringify({ more, less })}`,
    );
  }

  /** Whether nobody was admitted more than was guaranteed, at the end. */
  claimGuarantee(): void {
    const units = this.features.leases ? BigInt(HELD * HOLDERS) : 0n;
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
    await this.#place.settled();
    const limiters = this.tiers.flatMap(({ enforcing, shadow, beside, truth }) => [
      enforcing,
      shadow,
      beside,
      truth,
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
function unitsIn(last: Decision | undefined): Decision | undefined {
  const limits = last?.limits.filter((state) => !isOfPlaces(state)) ?? [];
  return last === undefined || limits.length === 0 ? undefined : { ...last, limits };
}

/** Few, that mostly lapse long after they were taken. */
function randomPlaces(random: Random): Limit {
  const ttl = random.pick([20, 1_000, 60_000]);
  return concurrency({ limit: random.whole(1, 6), ttl, name: "places" });
}

/** What a limit has admitted of a decision: nothing where it was left out, and no more where it was charged more afterwards. */
function leastUnits({ cost }: Decision, real: CostByName, name: string): number {
  const admitted = typeof cost === "number" ? cost : (cost[name] ?? 0);
  return Math.min(admitted, real[name] as number);
}

/** What is left of each limit, below zero where more is used. */
export function leftIn({ limits }: Decision): number[] {
  return limits.map(({ remaining, overdrawn }) => remaining - overdrawn);
}

/** Fails unless two looks at one moment say the same. */
export function claimUnchanged(before: Decision, after: Decision, explain: () => string): void {
  claimSame(after, before, () => `changed: ${explain()}`);
}
