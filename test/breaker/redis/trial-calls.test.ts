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
const PROBE_TIMEOUT_MS = 600_000;
/** How long Redis keeps a place for a prober that says nothing. */
const LEASE_MS = PROBE_TIMEOUT_MS + 1_000;

let server: RedisProcess;
/** Each with a client of its own, and so with a knowledge of its own. */
let clients: Redis[];
beforeAll(async () => {
  server = await startRedis();
  clients = Array.from({ length: PROCESSES }, () => new Redis(server.socket));
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

/** A trial call that was let through, by the test's own account. */
interface Trial {
  readonly permit: Permit;
  readonly granted: number;
}

/** One target that opens again and again, on a clock that stands still between the steps. */
class Fleet {
  now = 1_800_000_000_000;
  readonly trials: Trial[] = [];
  outcomes: Outcome[] = [];
  readonly #breakers: Breaker[];
  readonly #watched: PeriodWrites;
  readonly #probes: number;
  #seen = 0;

  constructor(breakers: (clock: () => number) => Breaker[], watched: PeriodWrites, probes: number) {
    this.#breakers = breakers(() => this.now);
    this.#watched = watched;
    this.#probes = probes;
  }

  /** Lets some processes ask at once. */
  async ask(random: Random, count: number): Promise<void> {
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

  /** Ends a trial call, whose outcome counts while Redis keeps its place. */
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

  /** What Redis was told since the last time: no more trial calls at once than may be, with those that have ended. */
  async check(): Promise<void> {
    await this.#watched.caughtUp();
    for (const { period } of this.#watched.writes.slice(this.#seen)) {
      const held = period.leases.filter(({ ends }) => ends > this.now * 1_000);
      expect(held.length + period.done).toBeLessThanOrEqual(this.#probes);
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

/** From the first trial call to the decision: callers ask, end, give up, and are never heard of again. */
async function playRound(fleet: Fleet, random: Random, probes: number): Promise<void> {
  fleet.outcomes = [];
  // Only what was let through in this period counts in it.
  fleet.trials.length = 0;
  const failing = random.fraction();
  for (;;) {
    await fleet.ask(random, random.whole(1, 2 * probes + 2));
    if (random.chance(0.2)) fleet.trials.splice(random.whole(0, fleet.trials.length));
    const late = random.chance(0.2);
    if (random.chance(0.3)) fleet.now += random.whole(0, late ? 2 * LEASE_MS : LEASE_MS / 4);
    for (const trial of random.shuffle(fleet.trials).slice(0, random.whole(0, probes))) {
      const outcome = random.chance(failing) ? "failure" : "success";
      await fleet.end(trial, random.chance(0.15) ? "release" : outcome);
      if (fleet.stored.state !== "half-open") return;
      expect(fleet.outcomes.length).toBeLessThan(probes);
    }
    // What nobody will end: the places are free again in the end.
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
    const name = `probes-${seed}`;
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
          trialCallTimeout: PROBE_TIMEOUT_MS,
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
