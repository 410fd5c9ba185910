import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Limit, ThresholdReached } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog, slidingWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { Random } from "../conformance/random/random.ts";
import { ThresholdRecorder } from "../conformance/support/record-thresholds.ts";

const PROCESSES = 6;
const ROUNDS = 30;

type Notification = Pick<ThresholdReached, "subject" | "name" | "threshold" | "used" | "limit">;

const script = fileURLToPath(new URL("threshold-subscriber.mjs", import.meta.url));
let processes: ChildProcess[] = [];

beforeAll(async () => {
  processes = Array.from({ length: PROCESSES }, () =>
    fork(script, [inject("redisSocket")], { execArgv: [] }),
  );
  await Promise.all(processes.map(messageOf));
});
afterAll(() => {
  for (const child of processes) child.kill();
});

async function messageOf(child: ChildProcess): Promise<unknown> {
  const gone = once(child, "exit").then(([code]): never => {
    throw new Error(`a process ended with code ${code}`);
  });
  gone.catch(() => {});
  const [message] = await Promise.race([once(child, "message"), gone]);
  return message;
}

const limit = 200;
const notifyAt = [0.25, 0.5, 0.8, 1];

test.each([
  ["gcra", gcra({ limit, window: "366d", notifyAt })],
  ["fixedWindow by the calendar", fixedWindow({ limit, window: "year", notifyAt })],
  ["slidingWindow in buckets", slidingWindow({ limit, window: "366d", buckets: 12, notifyAt })],
  ["slidingLog", slidingLog({ limit, window: "366d", notifyAt })],
] satisfies [string, Limit][])(
  "of six processes that use up a limit at once, one is notified of each threshold: %s",
  async (kind, limits) => {
    const client = new Redis(inject("redisSocket"));
    const name = `threshold processes ${kind}`;
    const own = new ThresholdRecorder();
    const limiter = createLimiter({ name, limits, store: redisStore(client), storeTimeout: "1m" });
    for (let round = 0; round < ROUNDS; round += 1) {
      const random = new Random(20_261_126, round);
      const subject = `${round}`;
      const messages = processes.map(messageOf);
      for (const child of processes) {
        const costs = Array.from({ length: 40 }, () => random.pick([1, 1, 2, 4]));
        child.send({ name, limits, subject, costs });
      }
      const ofProcesses = ((await Promise.all(messages)) as Notification[][]).flat();
      // Some was given back in the end: this process uses that up.
      await limiter.charge(subject, { cost: limit });
      const notified = [...ofProcesses, ...own.take(name)];
      expect(ofProcesses.length).toBeGreaterThan(0);
      expect(notified.map(({ threshold }) => threshold).toSorted()).toEqual(notifyAt);
      for (const { threshold, used, subject: whose } of notified) {
        expect(whose).toEqual({ default: subject });
        expect(used).toBeGreaterThanOrEqual(threshold * limit);
      }
    }
    await limiter.close();
    client.disconnect();
  },
);
