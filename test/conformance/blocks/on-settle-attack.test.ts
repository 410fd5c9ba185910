import type { Decision, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow } from "@headgate/core";
import { expect, test } from "vitest";
import { STORE_ALONE } from "../../redis/store-alone.ts";
import type { Random } from "../random/random.ts";
import { claim } from "../support/claim.ts";
import { HOUR, MINUTE, START } from "../support/hourly.ts";
import { MicroClock } from "../support/micro-clock.ts";
import { describeStores } from "../support/stores-under-test.ts";

/*
 * An attacker guesses for two days, in several processes, against ten failures an hour by the clock, with blocks of a minute, ten minutes
 * and an hour. He begins guesses and holds their answers back, into other windows and beyond blocks, and has an account of his own
 * to log in to. His knowledge is enough to tell when a block must be set, for how long, and when none may be set.
 */

const LIMIT = 10;
const DAY = 24n * HOUR;
const SPANS = [MINUTE, 10n * MINUTE, HOUR];
const SUBJECT = "a|ada";
const limits = fixedWindow({
  limit: LIMIT,
  window: "1h",
  align: "clock",
  block: ["1m", "10m", "1h"],
});

/** A guess that was admitted, and not answered yet. */
interface Guess {
  readonly decision: Decision;
  readonly began: bigint;
}

class Guesser {
  readonly #time: MicroClock;
  readonly #limiters: readonly Limiter[];
  readonly #pending: Guess[] = [];
  /** In the present window, since its last block: guesses that began, and failures that were known. */
  #begun = 0;
  #failed = 0;
  /** Where the present window ends. */
  #windowEnds = 0n;
  #level = 0;
  #blockEnds = 0n;
  blocks = 0;
  failures = 0;
  denials = 0;

  constructor(time: MicroClock, limiters: readonly Limiter[]) {
    this.#time = time;
    this.#limiters = limiters;
  }

  async guess(random: Random, count: number): Promise<void> {
    this.#look();
    const pending = Array.from({ length: count }, () =>
      random.pick(this.#limiters).consume(SUBJECT),
    );
    const { now } = this.#time;
    for (const decision of await Promise.all(pending)) {
      const { allowed, blocked, retryAfterMs } = decision;
      const isBlocked = now < this.#blockEnds;
      claim(blocked === isBlocked, () => `blocked ${blocked}, until ${this.#blockEnds} at ${now}`);
      if (allowed) {
        this.#begun += 1;
        this.#pending.push({ decision, began: now });
        claim(this.#begun <= LIMIT, () => `${this.#begun} guesses in one window`);
      } else {
        this.denials += 1;
        const until = isBlocked ? this.#blockEnds : this.#windowEnds;
        claim(
          BigInt(retryAfterMs) === (until - now + 999n) / 1_000n,
          () => `${retryAfterMs} ms to ${until} at ${now}`,
        );
      }
    }
  }

  /** The answer to one of his guesses, or to his own login. */
  async answer(random: Random, isFailure: boolean): Promise<void> {
    if (this.#pending.length === 0) return;
    this.#look();
    const [guess] = this.#pending.splice(random.whole(0, this.#pending.length - 1), 1) as [Guess];
    const { now } = this.#time;
    const isOfWindow = guess.began >= this.#windowEnds - HOUR;
    // As long as the block is known.
    const isOfBefore = guess.began < this.#blockEnds && now < this.#blockEnds + HOUR;
    await random.pick(this.#limiters).settle(guess.decision, isFailure ? 1 : 0);
    if (!isFailure) {
      if (isOfWindow && !isOfBefore) this.#begun -= 1;
      return;
    }
    if (isOfBefore) return;
    this.failures += 1;
    if (!isOfWindow) this.#begun += 1;
    this.#failed += 1;
    if (this.#failed < LIMIT) return;
    if (now >= this.#blockEnds + HOUR) this.#level = 0;
    this.#blockEnds = now + (SPANS[Math.min(this.#level, 2)] as bigint);
    this.#level += 1;
    this.blocks += 1;
    this.#begun = 0;
    this.#failed = 0;
  }

  async own(random: Random): Promise<void> {
    const before = this.#pending.length;
    await this.guess(random, 1);
    if (this.#pending.length > before) await this.answer(random, false);
  }

  /** Waits for one of the times that he knows. */
  wait(random: Random): void {
    this.#look();
    const { now } = this.#time;
    const moments = [this.#blockEnds, this.#windowEnds, this.#blockEnds + HOUR, now + MINUTE];
    const moment = random.pick(moments) + random.pick([-1n, 0n, 0n, 1n]);
    if (moment > now) this.#time.advance(moment - now);
  }

  #look(): void {
    const { now } = this.#time;
    if (now < this.#windowEnds) return;
    this.#windowEnds = now - (now % HOUR) + HOUR;
    this.#begun = 0;
    this.#failed = 0;
  }
}

describeStores((tested) => {
  test("a client that delays its responses is blocked at the tenth confirmed failure, and not before", async () => {
    const seen = { blocks: 0, denials: 0 };
    await tested.run(36, async (random) => {
      const time = new MicroClock(START);
      const store = tested.open(time.clock);
      const limiters = Array.from({ length: 3 }, () =>
        createLimiter({ ...STORE_ALONE, name: "login", limits, store, blockOn: "settle" }),
      );
      const guesser = new Guesser(time, limiters);
      // How often answers are failures, and how soon they come.
      const [failing, answering] = [random.pick([0.5, 0.9, 1]), random.pick([0.3, 0.5, 0.7])];
      for (let step = 0; step < 400 && time.now < START + 2n * DAY; step += 1) {
        const act = random.fraction();
        if (act < 0.15) await guesser.guess(random, random.pick([1, 2, 5, LIMIT, 3 * LIMIT]));
        else if (act < 0.2) await guesser.own(random);
        else if (act < 0.2 + answering) await guesser.answer(random, random.chance(failing));
        else if (random.chance(0.2)) guesser.wait(random);
      }
      const { blocks, failures, denials } = guesser;
      // In each window, fewer than ten failures remain without a block.
      claim(failures < LIMIT * (blocks + 1 + 49), () => `${failures} failures, ${blocks} blocks`);
      seen.blocks += blocks;
      seen.denials += denials;
    });
    expect(seen.blocks).toBeGreaterThan(20);
    expect(seen.denials).toBeGreaterThan(100);
  });
});
