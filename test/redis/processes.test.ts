import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Limit } from "@headgate/core";
import { fixedWindow, gcra, slidingLog, slidingWindow, tokenBucket } from "@headgate/core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

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
  readonly asked: number;
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

/** Lets every process do the same at the same time. */
async function strike(task: Task): Promise<Answer[]> {
  const answers = hammers.map(messageOf);
  for (const { child } of hammers) child.send(task);
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

describe("eight processes that hammer one key", () => {
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
    "are admitted exactly the limit, each time: %s",
    async (name, limits) => {
      for (let round = 0; round < 5; round += 1) {
        const answers = await strike({
          name: `hammer ${name}`,
          limits,
          subject: `${round}`,
          count: 75,
        });
        expect(answers.map(({ asked }) => asked)).toEqual(new Array(PROCESSES).fill(75));
        const admitted = answers.map(({ admissions }) => admissions.length);
        expect(admitted.reduce((sum, count) => sum + count, 0)).toBe(limit);
      }
    },
  );

  test("are never admitted more than a sliding log's limit in any window of the server's time", async () => {
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
