import type { Decision, Duration, Limiter } from "@headgate/core";
import { createLimiter, slidingLog } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import type { Random } from "../random/random.ts";
import { claim } from "../support/claim.ts";
import { HOUR, MINUTE, START } from "../support/hourly.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * The recipe of docs/how-to/blocks.md for failures in a sliding window: one limit holds a unit for each try, another one counts the
 * failures and blocks. A model with two lists of times knows each answer.
 */

const MOST = 10;
const SUBJECT = "ada";
const BLOCKS = { "15m": 15n * MINUTE, "1h": HOUR, "3h": 3n * HOUR } as const;

/** A try that was admitted, whose outcome is not known yet. */
interface Try {
  readonly decision: Decision;
  readonly at: bigint;
}

class Guesser {
  readonly #time: MicroClock;
  readonly #limiters: readonly Limiter[];
  readonly #span: bigint;
  readonly #pending: Try[] = [];
  #tries: bigint[] = [];
  #failures: bigint[] = [];
  #blockEnds = 0n;
  /** The first moment after the last block began. */
  #generation = 0n;
  blocks = 0;
  denials = 0;

  constructor(time: MicroClock, limiters: readonly Limiter[], span: bigint) {
    this.#time = time;
    this.#limiters = limiters;
    this.#span = span;
  }

  async begin(random: Random, count: number): Promise<void> {
    const { now } = this.#time;
    this.#tries = this.#tries.filter((at) => at > now - HOUR);
    const burst = Array.from({ length: count }, () =>
      random.pick(this.#limiters).consume(SUBJECT, { cost: { tries: 1, failures: 0 } }),
    );
    for (const decision of await Promise.all(burst)) {
      const isBlocked = now < this.#blockEnds;
      const fits = this.#tries.length < MOST;
      claim(!decision.degraded, () => "degraded");
      claim(decision.blocked === isBlocked, () => `blocked until ${this.#blockEnds} at ${now}`);
      claim(decision.allowed === (fits && !isBlocked), () => `${this.#tries.length} tries`);
      if (decision.allowed) {
        this.#tries.push(now);
        this.#pending.push({ decision, at: now });
      } else {
        this.denials += 1;
        // Without a block, the oldest try of the last hour decides.
        const until = fits ? 0n : (this.#tries[0] as bigint) + HOUR;
        const end = isBlocked && this.#blockEnds > until ? this.#blockEnds : until;
        claim(
          BigInt(decision.retryAfterMs) === (end - now + 999n) / 1_000n,
          () => `${decision.retryAfterMs} ms to ${end} at ${now}`,
        );
      }
    }
  }

  /** Waits for some time, or for a moment at which an answer changes. */
  wait(random: Random): void {
    const { now } = this.#time;
    const [oldestTry = now] = this.#tries;
    const [oldestFailure = now] = this.#failures;
    const moments = [oldestTry + HOUR, oldestFailure + HOUR, this.#blockEnds];
    const moment = random.pick(moments) + random.pick([-1n, 0n, 1n]);
    const some = BigInt(random.magnitude(1, 100 * 60_000_000));
    this.#time.advance(random.chance(0.3) && moment > now ? moment - now : some);
  }

  async end(random: Random, isFailure: boolean): Promise<void> {
    if (this.#pending.length === 0) return;
    const [one] = this.#pending.splice(random.whole(0, this.#pending.length - 1), 1) as [Try];
    const { now } = this.#time;
    const limiter = random.pick(this.#limiters);
    if (!isFailure) {
      await limiter.refund(one.decision);
      const at = this.#tries.indexOf(one.at);
      // A block begins a new count, into which no earlier try is given back.
      if (at >= 0 && one.at >= this.#generation) this.#tries.splice(at, 1);
      return;
    }
    const { blocked } = await limiter.consume(SUBJECT, { cost: { tries: 0, failures: 1 } });
    if (now >= this.#blockEnds) {
      this.#failures = this.#failures.filter((at) => at > now - HOUR);
      this.#failures.push(now);
      if (this.#failures.length === MOST) {
        this.#blockEnds = now + this.#span;
        this.#failures = [];
        this.#generation = now + 1n;
        this.blocks += 1;
      }
    }
    claim(blocked === now < this.#blockEnds, () => `blocked ${blocked} at ${now}`);
  }
}

describeStores((tested) => {
  test("the tenth failure reported within any hour starts a block, and no other failure, success or denial does", async () => {
    const seen = { blocks: 0, denials: 0 };
    await tested.run(72, async (random) => {
      const time = new MicroClock(START);
      const store = tested.open(time.clock);
      const [block, span] = random.pick(Object.entries(BLOCKS)) as [Duration, bigint];
      const limits = [
        slidingLog({ name: "tries", limit: MOST, window: "1h" }),
        slidingLog({ name: "failures", limit: MOST - 1, window: "1h", block }),
      ];
      const limiters = Array.from({ length: 3 }, () =>
        createLimiter({ ...STORE_ALONE, name: "login", limits, store }),
      );
      const guesser = new Guesser(time, limiters, span);
      const failing = random.pick([0.7, 0.95, 1]);
      for (let step = 0; step < 250; step += 1) {
        const act = random.fraction();
        if (act < 0.4) await guesser.begin(random, random.pick([1, 2, 5, 30]));
        else if (act < 0.85) await guesser.end(random, random.chance(failing));
        else guesser.wait(random);
      }
      seen.blocks += guesser.blocks;
      seen.denials += guesser.denials;
    });
    expect(seen.blocks).toBeGreaterThan(10);
    expect(seen.denials).toBeGreaterThan(100);
  });
});
