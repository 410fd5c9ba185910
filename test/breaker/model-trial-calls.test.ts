import type { Breaker, Permit } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { expect, test } from "vitest";
import { historiesOf, runHistories } from "../conformance/random/histories.ts";
import type { Random } from "../conformance/random/random.ts";
import { claim } from "../conformance/support/claim.ts";
import { MicroClock } from "../conformance/support/micro-clock.ts";
import { STORE_ALONE } from "../redis/store-alone.ts";
import { useOwnDatabases } from "../support/own-database.ts";

const HISTORIES = historiesOf(50, 500);
const ROUNDS = 6;
const LANES = 32;

const OPEN_FOR_MS = 1_000;
/** Longer than the suite runs: a process's own timer runs on the real clock. */
const PROBE_TIMEOUT_MS = 300_000;
/** Microseconds: a process that crashed is waited for a second longer. */
const LEASE = BigInt(PROBE_TIMEOUT_MS + 1_000) * 1_000n;

const { storeTimeout } = STORE_ALONE;

const clients = useOwnDatabases(3);

/** A trial call under way. */
interface Trial {
  readonly permit: Permit;
  /** When its lease ends, in microseconds. */
  readonly ends: bigint;
  /** The process is gone, or so slow that it reports the call when the lease is over. */
  readonly isLost: boolean;
}

test("a fleet that calls at once makes at most `trialCalls` trial calls, and exactly that many outcomes decide", async () => {
  const decided = { closed: 0, open: 0, late: 0 };
  await runHistories(
    HISTORIES,
    async (random, history) => {
      const time = new MicroClock(1_800_000_000_000_000n);
      const trialCalls = random.pick([1, 2, 5, random.whole(1, 20)]);
      const breakers = clients.map((client) =>
        createBreaker({
          name: `probes-${history}`,
          store: redisStore(client, { clock: time.clock }),
          storeTimeout,
          window: { calls: 1 },
          openFor: OPEN_FOR_MS,
          trialCalls,
          trialCallTimeout: PROBE_TIMEOUT_MS,
          flushInterval: 0,
        }),
      );
      for (let round = 0; round < ROUNDS; round++) {
        const { state } = await (breakers[0] as Breaker).snapshot();
        if (state === "closed") await random.pick(breakers).record("failure");
        time.advance(BigInt(OPEN_FOR_MS) * 1_000n);
        const result = await tryOut(random, breakers, trialCalls, time);
        decided[result.state] += 1;
        decided.late += result.late;
      }
      await Promise.all(breakers.map((breaker) => breaker.close()));
    },
    LANES,
  );
  expect(decided.closed).toBeGreaterThan(HISTORIES);
  expect(decided.open).toBeGreaterThan(HISTORIES);
  expect(decided.late).toBeGreaterThan(HISTORIES);
});

/** One half-open period, until it is decided. */
async function tryOut(
  random: Random,
  breakers: readonly Breaker[],
  probes: number,
  time: MicroClock,
): Promise<{ readonly state: "closed" | "open"; readonly late: number }> {
  let trials: Trial[] = [];
  let outcomes = 0;
  let failures = 0;
  let late = 0;
  for (;;) {
    const over = trials.filter(({ ends }) => ends <= time.now);
    trials = trials.filter(({ ends }) => ends > time.now);
    const reported = over.filter(() => random.chance(0.5));
    late += reported.length;
    await Promise.all(reported.map(({ permit }) => permit.record("failure")));

    const asked = breakers.flatMap((breaker) =>
      Array.from({ length: random.whole(0, probes) }, () => breaker.admit()),
    );
    const permits = await Promise.all(asked);
    const granted = permits.filter(({ allowed }) => allowed);
    const room = probes - outcomes - trials.length;
    claim(
      permits.every(({ state }) => state === "half-open"),
      () => "it is half-open",
    );
    claim(
      granted.length === Math.min(room, asked.length),
      () => `granted ${granted.length}, asked ${asked.length}, room ${room} of ${probes}`,
    );
    const ends = time.now + LEASE;
    trials.push(...granted.map((permit) => ({ permit, ends, isLost: random.chance(0.3) })));

    const ended = trials.filter(({ isLost }) => !isLost && random.chance(0.5));
    trials = trials.filter((trial) => !ended.includes(trial));
    const failing = random.pick([0.2, 0.8]);
    await Promise.all(
      random.shuffle(ended).map(({ permit }) => {
        if (random.chance(0.1)) return permit.release();
        outcomes += 1;
        const isFailure = random.chance(failing);
        if (isFailure) failures += 1;
        return permit.record(isFailure ? "failure" : "success");
      }),
    );
    const expected = outcomes < probes ? "half-open" : failures * 2 > outcomes ? "open" : "closed";
    await expectState(breakers, expected);
    if (outcomes === probes) break;
    const first = trials[0];
    if (first !== undefined && random.chance(0.5)) time.advance(first.ends - time.now);
    else time.advance(BigInt(random.whole(0, 50_000_000)));
  }
  return { state: failures * 2 > outcomes ? "open" : "closed", late };
}

async function expectState(breakers: readonly Breaker[], expected: string): Promise<void> {
  for (const breaker of breakers) {
    const { state } = await breaker.snapshot();
    claim(state === expected, () => `${state}, and not ${expected}`);
  }
}
