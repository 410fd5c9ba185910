import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Limit } from "@headgate/core";
import {
  createLimiter,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { largestOf } from "../conformance/random/limits.ts";
import { findExcess } from "../conformance/support/admissions.ts";
import { STORE_ALONE } from "./store-alone.ts";

const PROCESSES = 8;

interface Task {
  readonly name: string;
  readonly limits: Limit | Limit[];
  readonly subject: string;
  readonly count?: number;
  readonly atOnce?: number;
  readonly milliseconds?: number;
}

interface Answer {
  readonly requests: number;
  /** The server's clock at each admission, in microseconds. */
  readonly admissions: readonly number[];
}

interface Hammer {
  readonly child: ChildProcess;
  /** Rejects when the process ends. */
  readonly gone: Promise<never>;
}

const script = fileURLToPath(new URL("hammer.mjs", import.meta.url));
let hammers: Hammer[] = [];

beforeAll(async () => {
  hammers = Array.from({ length: PROCESSES }, startHammer);
  await Promise.all(hammers.map(messageOf));
});
afterAll(() => {
  for (const { child } of hammers) child.kill();
});

function startHammer(): Hammer {
  const child = fork(script, [inject("redisSocket")], { execArgv: [] });
  const gone = once(child, "exit").then(([code]): never => {
    throw new Error(`a process ended with code ${code}`);
  });
  gone.catch(() => {});
  return { child, gone };
}

async function messageOf({ child, gone }: Hammer): Promise<unknown> {
  const [message] = await Promise.race([once(child, "message"), gone]);
  return message;
}

/** Lets every process do a task at the same time: all the same, or each its own. */
async function strike(task: Task | ((process: number) => Task)): Promise<Answer[]> {
  const answers = hammers.map(messageOf);
  hammers.forEach(({ child }, i) => {
    child.send(typeof task === "function" ? task(i) : task);
  });
  return (await Promise.all(answers)) as Answer[];
}

/** The most admissions in any window (t - length, t]. */
function mostWithin(times: readonly number[], length: number): number {
  let most = 0;
  let first = 0;
  for (const [i, time] of times.entries()) {
    while ((times[first] as number) <= time - length) first += 1;
    most = Math.max(most, i - first + 1);
  }
  return most;
}

describe("eight processes under load on one key", () => {
  const limit = 500;
  const policies: Record<string, Limit | Limit[]> = {
    gcra: gcra({ limit, window: "366d" }),
    tokenBucket: tokenBucket({ capacity: limit, refill: 1, every: "1d" }),
    fixedWindow: fixedWindow({ limit, window: "366d" }),
    "fixedWindow by the clock": fixedWindow({ limit, window: "366d", align: "clock" }),
    slidingWindow: slidingWindow({ limit, window: "366d" }),
    "slidingWindow of buckets": slidingWindow({ limit, window: "366d", buckets: 60 }),
    slidingLog: slidingLog({ limit, window: "366d" }),
    "three limits": [
      slidingLog({ limit: 1_000, window: "366d" }),
      gcra({ limit, window: "366d" }),
      fixedWindow({ limit: 750, window: "366d" }),
    ],
  };

  test.each(Object.entries(policies))(
    "eight processes are admitted exactly the limit, each time: %s",
    async (name, limits) => {
      for (let round = 0; round < 5; round += 1) {
        const answers = await strike({
          name: `hammer ${name}`,
          limits,
          subject: `${round}`,
          count: 75,
        });
        expect(answers.map(({ requests }) => requests)).toEqual(new Array(PROCESSES).fill(75));
        const admitted = answers.map(({ admissions }) => admissions.length);
        expect(admitted.reduce((sum, count) => sum + count, 0)).toBe(limit);
      }
    },
  );

  test("eight processes never exceed a sliding log's limit in any window of the server's time", async () => {
    const window = 150;
    const answers = await strike({
      name: "hammer window",
      limits: slidingLog({ limit: 40, window }),
      subject: "one",
      atOnce: 8,
      milliseconds: 1_500,
    });
    const times = answers.flatMap(({ admissions }) => admissions).sort((a, b) => a - b);
    expect(mostWithin(times, window * 1_000)).toBe(40);
    // Nor are they kept out: one window after the other was used up.
    expect(times.length).toBeGreaterThanOrEqual(40 * 4);
    expect(answers.filter(({ admissions }) => admissions.length > 0).length).toBeGreaterThan(1);
  });
});

describe("eight processes denied at once", () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(inject("redisSocket"));
  });
  afterAll(() => redis.quit());

  test("eight processes denied at once set one block together", async () => {
    const limits = fixedWindow({ limit: 100, window: "366d", block: ["1h", "2h", "4h"] });
    const limiter = createLimiter({
      ...STORE_ALONE,
      name: "lock",
      limits,
      store: redisStore(redis),
    });
    for (const subject of ["one", "two", "three"]) {
      const answers = await strike({ name: "lock", limits, subject, count: 75 });
      expect(answers.flatMap(({ admissions }) => admissions)).toHaveLength(100);
      const { blocked, retryAfterMs } = await limiter.consume(subject);
      expect(blocked).toBe(true);
      expect(retryAfterMs).toBeLessThanOrEqual(3_600_000);
      // The level, which is the byte before the last.
      const [key = ""] = await redis.keys(`hg:{${subject}}:lock:*`);
      expect((await redis.getBuffer(key))?.at(-2)).toBe(1);
    }
    await limiter.close();
  });
});

/*
 * A rolling deploy: they share one count, and together get no more than a limit with the largest of each number grants.
 */
describe("eight processes, half of them with a new number", () => {
  /** So many units in a window, by each algorithm. */
  const algorithms: Record<string, (limit: number, window: number) => Limit> = {
    gcra: (limit, window) => gcra({ limit, window }),
    tokenBucket: (limit, every) => tokenBucket({ capacity: limit, refill: limit, every }),
    fixedWindow: (limit, window) => fixedWindow({ limit, window }),
    "fixedWindow by the clock": (limit, window) => fixedWindow({ limit, window, align: "clock" }),
    slidingWindow: (limit, window) => slidingWindow({ limit, window }),
    "slidingWindow of buckets": (limit, window) => slidingWindow({ limit, window, buckets: 10 }),
    slidingLog: (limit, window) => slidingLog({ limit, window }),
  };

  /** So long that nothing comes back meanwhile, in milliseconds. */
  const long = 366 * 86_400_000;

  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(inject("redisSocket"));
  });
  afterAll(() => redis.quit());

  /** Sends requests by one limit from half of the processes, and by the other from the rest. Returns the times of admission. */
  async function roll(
    limits: readonly [Limit, Limit],
    task: Omit<Task, "limits" | "subject">,
  ): Promise<number[]> {
    const answers = await strike((process) => ({
      ...task,
      subject: "fleet",
      limits: limits[process % 2] as Limit,
    }));
    return answers.flatMap(({ admissions }) => admissions).sort((a, b) => a - b);
  }

  test.each(Object.entries(algorithms))(
    "processes with the old and the new number share one count: %s",
    async (algorithm, per) => {
      const name = `fleet ${algorithm}`;
      // Processes with the larger number request more than it, so all of it is spent, and none of it twice.
      const times = await roll([per(300, long), per(500, long)], { name, count: 150 });
      expect(times).toHaveLength(500);
      const store = redisStore(redis);
      const limiter = createLimiter({ ...STORE_ALONE, name, limits: per(300, long), store });
      const { limits } = await limiter.consume("fleet");
      expect(limits[0]).toMatchObject({ allowed: false, remaining: 0, overdrawn: 200 });
      await limiter.close();
    },
  );

  test.each(Object.entries(algorithms))(
    "processes with the old and the new number never exceed the larger one: %s",
    async (algorithm, per) => {
      const limits = [per(15, 100), per(40, 100)] as const;
      const task = { name: `fleet ${algorithm} in turn`, atOnce: 4, milliseconds: 400 };
      const times = await roll(limits, task);
      const admissions = times.map((at) => ({ at: BigInt(at), cost: 1 }));
      expect(findExcess(largestOf(limits), admissions)).toBeUndefined();
      // Nor are they kept out.
      expect(times.length).toBeGreaterThan(40);
    },
  );
});
