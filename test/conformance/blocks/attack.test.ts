import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, slidingLog, slidingWindow } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import type { Random } from "../random/random.ts";
import { claim } from "../support/claim.ts";
import { HOUR, MINUTE, START } from "../support/hourly.ts";
import { MicroClock } from "../support/micro-clock.ts";
import type { StoreUnderTest } from "../support/stores-under-test.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * An attacker guesses for a day against a limit of ten tries a day, with blocks of a minute, ten minutes and an hour, and times each
 * guess by all reported values. He gets ten tries, and ten more for each block that he waits out. The length of each block matters,
 * too: under simpler rules he collects short blocks, for up to 7,210 tries.
 */

const LIMIT = 10;
const DAY = 24n * HOUR;
const SPANS = [MINUTE, 10n * MINUTE, HOUR];
const block = ["1m", "10m", "1h"] as const;
const SUBJECT = "a|ada";

/** Blocks that fit into a day: one of a minute, one of ten minutes, the others of an hour. */
const MOST_BLOCKS = 2 + 24;

const POLICIES: Record<string, (limit: number) => Limit> = {
  fixedWindow: (limit) => fixedWindow({ limit, window: "1d", block }),
  "slidingWindow in buckets": (limit) => slidingWindow({ limit, window: "1d", buckets: 6, block }),
  slidingLog: (limit) => slidingLog({ limit, window: "1d", block }),
};

/** An attacker: his knowledge and his results. */
class Guesser {
  readonly #time: MicroClock;
  /** Limiters of several processes. */
  readonly #limiters: readonly Limiter[];
  readonly #limitOf: (limit: number) => Limit;
  admitted = 0;
  resets = 0;
  blocks = 0;
  /** The number of blocks since the last reset of the level. */
  #level = 0;
  /** When the last block ends. */
  #ends = 0n;
  #last: Decision | undefined;

  constructor(time: MicroClock, limiters: readonly Limiter[], limitOf: (limit: number) => Limit) {
    this.#time = time;
    this.#limiters = limiters;
    this.#limitOf = limitOf;
  }

  async guess(random: Random, cost: number): Promise<void> {
    const limits = random.chance(0.3) ? this.#limitOf(random.pick([1, 5, LIMIT])) : undefined;
    const decision = await random.pick(this.#limiters).consume(SUBJECT, { cost, limits });
    this.#checkDecision(decision);
    this.#last = decision;
  }

  /** As many guesses at once, in all processes. */
  async burst(count: number): Promise<void> {
    const decisions = Array.from({ length: count }, (_, i) =>
      (this.#limiters[i % this.#limiters.length] as Limiter).consume(SUBJECT),
    );
    for (const decision of await Promise.all(decisions)) this.#checkDecision(decision);
  }

  async peek(random: Random): Promise<void> {
    this.#last = await random.pick(this.#limiters).peek(SUBJECT, { cost: random.whole(0, 3) });
  }

  /** A login to an account of his own. */
  async reset(random: Random): Promise<void> {
    await random.pick(this.#limiters).reset(SUBJECT);
    this.resets += 1;
    this.#level = 0;
    this.#ends = 0n;
  }

  /** Waits for one of the times that he knows. */
  wait(random: Random): void {
    const waits = [this.#last?.retryAfterMs ?? 0, this.#last?.resetAfterMs ?? 0]
      .filter(Number.isFinite)
      .map((ms) => BigInt(ms) * 1_000n);
    const left = this.#ends - this.#time.now;
    const moment = random.pick([left, left, ...waits, ...SPANS, 1n, 1_000_000n, HOUR]);
    const wait = moment + random.pick([-1n, 0n, 0n, 1n]);
    if (wait > 0n) this.#time.advance(wait);
  }

  #checkDecision({ allowed, blocked, cost, retryAfterMs }: Decision): void {
    const { now } = this.#time;
    if (allowed) {
      claim(now >= this.#ends, () => `admitted ${this.#ends - now} µs before the block ends`);
      this.admitted += cost as number;
      return;
    }
    if (!blocked || now < this.#ends || !Number.isFinite(retryAfterMs)) return;
    // A new block. The level is reset after a day without another one.
    if (now >= this.#ends + DAY) this.#level = 0;
    const span = SPANS[Math.min(this.#level, SPANS.length - 1)] as bigint;
    claim(
      BigInt(retryAfterMs) * 1_000n === span,
      () => `block ${this.#level} is of ${retryAfterMs} ms`,
    );
    this.#level += 1;
    this.#ends = now + span;
    this.blocks += 1;
  }
}

function guesserIn(tested: StoreUnderTest, limitOf: (limit: number) => Limit) {
  const time = new MicroClock(START);
  const store = tested.open(time.clock);
  const limiters = Array.from({ length: 3 }, () =>
    createLimiter({ ...STORE_ALONE, name: "login", limits: limitOf(LIMIT), store }),
  );
  return { time, guesser: new Guesser(time, limiters, limitOf) };
}

async function tryOnce(random: Random, guesser: Guesser, resets: boolean): Promise<void> {
  const act = random.fraction();
  if (act < 0.4) await guesser.guess(random, random.pick([1, 1, 1, 2, LIMIT, LIMIT + 1]));
  else if (act < 0.55) await guesser.burst(random.pick([2, LIMIT, LIMIT + 1, 3 * LIMIT]));
  else if (act < 0.6) await guesser.peek(random);
  else if (act < 0.62 && resets) await guesser.reset(random);
  else guesser.wait(random);
}

describeStores((tested) => {
  test.each(Object.entries(POLICIES))(
    "%s, against all that he can think of",
    async (_, limitOf) => {
      await tested.run(36, async (random) => {
        const resets = random.chance(0.3);
        const { time, guesser } = guesserIn(tested, limitOf);
        while (time.now < START + DAY) await tryOnce(random, guesser, resets);
        const { admitted, blocks, resets: forgiven } = guesser;
        const most = LIMIT * (1 + blocks + forgiven);
        claim(admitted <= most, () => `${admitted} tries, ${blocks} blocks, ${forgiven} resets`);
        if (forgiven > 0) return;
        claim(blocks <= MOST_BLOCKS, () => `${blocks} blocks in a day`);
      });
    },
  );

  test.each(Object.entries(POLICIES))(
    "%s, against who takes each block as soon as he can",
    async (_, limitOf) => {
      const { time, guesser } = guesserIn(tested, limitOf);
      const spans = [...SPANS, ...Array.from({ length: MOST_BLOCKS }, () => HOUR)];
      for (const span of spans) {
        if (time.now >= START + DAY) break;
        await guesser.burst(LIMIT + 5);
        time.advance(span);
      }
      const { admitted, blocks } = guesser;
      expect([admitted, blocks]).toEqual([LIMIT * MOST_BLOCKS, MOST_BLOCKS]);
    },
  );
});
