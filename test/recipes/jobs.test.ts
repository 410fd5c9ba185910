import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { useCompiledExample } from "./compile-example.ts";

const redis = useOwnRedis();
const program = useCompiledExample("jobs/worker.ts");

/**
 * Has a worker say when it prints a line, on the clock that all processes of a machine share: lines of several come here in any
 * order. And has it end with this process, also a killed one.
 */
const STAMP = `const { log } = console;
console.log = (line) => log(Number(process.hrtime.bigint()) / 1e6 + " " + line);
process.once("disconnect", () => process.exit());
process.channel.unref();`;

/** Milliseconds of that clock. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

type Word = "start" | "end";

interface Event {
  readonly worker: ChildProcess;
  readonly word: Word;
  readonly job: string;
  readonly at: number;
}

/** Workers of a fleet, and what all of them did, in order. Resolves when all wait for jobs. */
async function startWorkers(count: number, environment: Readonly<Record<string, string>>) {
  const events: Event[] = [];
  const stderrLines: string[] = [];
  const args = ["--import", `data:text/javascript,${encodeURIComponent(STAMP)}`, program];
  const env = { ...process.env, ...environment, REDIS_URL: redis.server.socket };
  const workers = Array.from({ length: count }, () => {
    const worker = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
    worker.stderr?.on("data", (text) => stderrLines.push(String(text)));
    createInterface(worker.stdout as Readable).on("line", (line) => {
      const [at, word, job = ""] = line.split(" ") as [string, Word, string];
      events.push({ worker, word, job, at: Number(at) });
    });
    onTestFinished(async () => {
      if (worker.exitCode !== null || worker.signalCode !== null) return;
      worker.kill("SIGKILL");
      await once(worker, "exit");
    });
    return worker;
  });
  const waiting = async () =>
    String(await redis.client.client("LIST")).match(/ cmd=blpop /g)?.length;
  await expect.poll(waiting).toBe(count);
  const inOrder = () => events.toSorted((a, b) => a.at - b.at);
  const of = (word: Word) => inOrder().filter((event) => event.word === word);
  return { workers, events: inOrder, stderrLines, of };
}

/** The most that ran at once. */
function mostAtOnce(events: readonly { readonly word: Word }[]): number {
  let running = 0;
  return Math.max(...events.map(({ word }) => (running += word === "start" ? 1 : -1)));
}

function enqueue(count: number): Promise<number> {
  return redis.client.rpush("jobs", ...Array.from({ length: count }, (_, i) => `job-${i + 1}`));
}

test("five processes run three jobs at a time, and none is lost when they stop", async () => {
  const { workers, events, of } = await startWorkers(5, { JOB_MS: "400" });
  await enqueue(12);
  await expect.poll(() => of("start").length).toBe(12);
  for (const worker of workers) worker.kill("SIGTERM");
  const exits = await Promise.all(workers.map((worker) => once(worker, "exit")));
  expect(exits.map(([code]) => code)).toEqual([0, 0, 0, 0, 0]);
  expect(new Set(of("end").map(({ job }) => job)).size).toBe(12);
  expect(mostAtOnce(events())).toBe(3);
  // More than three processes had work.
  expect(new Set(of("end").map(({ worker }) => worker)).size).toBeGreaterThan(3);
});

test("together the processes start one job every 100 ms", async () => {
  const { of } = await startWorkers(2, { JOB_MS: "1" });
  const start = nowMs();
  await enqueue(12);
  await expect.poll(() => of("end").length).toBe(12);
  // Eleven gaps. With a pace for each process it would be five.
  expect(Number(of("start").at(-1)?.at) - start).toBeGreaterThan(1_095);
});

test("the slot of a killed worker is free after ttl", async () => {
  const { of } = await startWorkers(4, { JOB_MS: "60000", TTL_MS: "1500" });
  await enqueue(3);
  await expect.poll(() => of("start").length).toBe(3);
  await enqueue(1);
  const [victim] = of("start") as [Event];
  const others = of("start").slice(1);
  // Its slot was renewed within the last third of `ttl`, so it lapses no earlier than after two thirds.
  const killed = nowMs();
  victim.worker.kill("SIGKILL");
  await expect.poll(() => of("start").length, { interval: 20 }).toBe(4);
  const [next] = of("start").slice(3) as [Event];
  expect(next.at - killed).toBeGreaterThan(950);
  // The other two have run for longer than `ttl`: theirs were renewed.
  expect(others.map(({ worker }) => worker.exitCode)).toEqual([null, null]);
});

test("no job starts while Redis does not answer", async () => {
  const { of, stderrLines } = await startWorkers(4, { JOB_MS: "60000" });
  await enqueue(4);
  await expect.poll(() => of("start").length).toBe(3);
  redis.server.freeze();
  onTestFinished(() => redis.server.thaw());
  await expect.poll(() => stderrLines.join("")).toContain("HEADGATE_STORE_DOWN");
  // A process that counted by itself would have started the fourth instead of logging the warning, or a quarter of a second later.
  await delay(400);
  expect(of("start")).toHaveLength(3);
});
