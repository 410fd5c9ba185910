import type { Breaker, Outcome, Permit } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../../conformance/random/random.ts";
import type { RedisProcess } from "../../support/redis-process.ts";
import { startRedis } from "../../support/redis-process.ts";
import type { PeriodWrites } from "./period-writes.ts";
import { watchPeriodWrites } from "./period-writes.ts";

const PROCESSES = 3;
const ROUNDS = 15;
const OPEN_FOR_MS = 30_000;
const TRIAL_CALL_TIMEOUT_MS = 600_000;
/** How long the lease of an unreported trial call lasts. */
const LEASE_MS = TRIAL_CALL_TIMEOUT_MS + 1_000;

let server: RedisProcess;
/** Each process has a client of its own, and therefore trackers of its own. */
let clients: Redis[];
beforeAll(async () => {
  server = await startRedis();
  clients = Array.from({ length: PROCESSES }, () => new Redis(server.socket));
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

/** An allowed trial call, as the test counts them. */
interface Trial {
  readonly permit: Permit;
  readonly granted: number;
}

/** One target that opens again and again, on a clock that the test advances. */
class Fleet {
  now = 1_800_000_000_000;
  readonly trials: Trial[] = [];
  outcomes: Outcome[] = [];
  readonly #breakers: Breaker[];
  readonly #watched: PeriodWrites;
  readonly #trialCalls: number;
  #seen = 0;

  constructor(
    breakers: (clock: () => number) => Breaker[],
    watched: PeriodWrites,
    trialCalls: number,
  ) {
    this.#breakers = breakers(() => this.now);
    this.#watched = watched;
    this.#trialCalls = trialCalls;
  }

  /** Requests calls in some processes at once. */
  async requestCalls(random: Random, count: number): Promise<void> {
    const permits = await Promise.all(
      Array.from({ length: count }, () => random.pick(this.#breakers).admit()),
    );
    for (const permit of permits) {
      if (permit.allowed && permit.state === "half-open") {
        this.trials.push({ permit, granted: this.now });
      }
    }
    await this.check();
  }

  /** Ends a trial call, whose outcome counts until its lease ends. */
  async end({ permit, granted }: Trial, outcome: Outcome | "release"): Promise<void> {
    this.trials.splice(
      this.trials.findIndex((trial) => trial.permit === permit),
      1,
    );
    if (outcome === "release") {
      await permit.release();
    } else {
      if (this.now < granted + LEASE_MS) this.outcomes.push(outcome);
      await permit.record(outcome);
    }
    await this.check();
  }

  /** Checks the new writes: the trial calls in flight and those that have ended are at most `trialCalls`. */
  async check(): Promise<void> {
    await this.#watched.caughtUp();
    for (const { period } of this.#watched.writes.slice(this.#seen)) {
      const held = period.leases.filter(({ ends }) => ends > this.now * 1_000);
      expect(held.length + period.done).toBeLessThanOrEqual(this.#trialCalls);
    }
    this.#seen = this.#watched.writes.length;
  }

  get stored() {
    const last = this.#watched.writes.at(-1);
    if (last === undefined) throw new Error("nothing was written");
    return last.period;
  }

  async open(random: Random): Promise<void> {
    const breaker = random.pick(this.#breakers);
    await breaker.record("failure");
    await breaker.snapshot();
    await this.check();
    expect(this.stored.state).toBe("open");
    this.now += OPEN_FOR_MS;
  }

  async close(): Promise<void> {
    for (const breaker of this.#breakers) await breaker.close();
  }
}

/** Plays from the first trial call to the decision. Some calls are released, and some are never reported. */
async function playRound(fleet: Fleet, random: Random, trialCalls: number): Promise<void> {
  fleet.outcomes = [];
  // Only calls that were admitted in this period count in it.
  fleet.trials.length = 0;
  const failing = random.fraction();
  for (;;) {
    await fleet.requestCalls(random, random.whole(1, 2 * trialCalls + 2));
    if (random.chance(0.2)) fleet.trials.splice(random.whole(0, fleet.trials.length));
    const late = random.chance(0.2);
    if (random.chance(0.3)) fleet.now += random.whole(0, late ? 2 * LEASE_MS : LEASE_MS / 4);
    for (const trial of random.shuffle(fleet.trials).slice(0, random.whole(0, trialCalls))) {
      const outcome = random.chance(failing) ? "failure" : "success";
      await fleet.end(trial, random.chance(0.15) ? "release" : outcome);
      if (fleet.stored.state !== "half-open") return;
      expect(fleet.outcomes.length).toBeLessThan(trialCalls);
    }
    // The slots of unreported trial calls are free once their leases have ended.
    if (fleet.trials.length === 0 && random.chance(0.5)) fleet.now += LEASE_MS;
  }
}

test.for(Array.from({ length: 10 }, (_, i) => i + 1))(
  "a half-open target makes at most `trialCalls` trial calls, and that many outcomes decide (seed %i)",
  async (seed) => {
    const random = new Random(seed);
    const trialCalls = random.pick([1, 2, 3, random.whole(1, 20)]);
    const minimumSuccessRate = random.pick([0.5, 0.5, random.fraction(), 1]);
    const flushInterval = random.pick([0, 250, 60_000]);
    const name = `trial-calls-${seed}`;
    const watched = await watchPeriodWrites(server.socket, `hg:{default}:breaker/${name}`);
    const makeBreakers = (clock: () => number): Breaker[] =>
      clients.map((client) =>
        createBreaker({
          name,
          store: redisStore(client, { clock }),
          storeTimeout: "1m",
          minimumCalls: 1,
          minimumSuccessRate,
          openFor: OPEN_FOR_MS,
          trialCalls,
          trialCallTimeout: TRIAL_CALL_TIMEOUT_MS,
          flushInterval,
        }),
      );
    const fleet = new Fleet(makeBreakers, watched, trialCalls);
    for (let round = 0; round < ROUNDS; round += 1) {
      await fleet.open(random);
      await playRound(fleet, random, trialCalls);
      const failures = fleet.outcomes.filter((outcome) => outcome === "failure").length;
      const isBad = (trialCalls - failures) / trialCalls < minimumSuccessRate;
      expect(fleet.outcomes).toHaveLength(trialCalls);
      expect(fleet.stored).toMatchObject({ calls: trialCalls, failures });
      expect(fleet.stored.state).toBe(isBad ? "open" : "closed");
    }
    await fleet.close();
    watched.stop();
  },
);
