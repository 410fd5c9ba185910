import { concurrency, createLimiter, fixedWindow, gcra, tokenBucket } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { limitFetch } from "@headgate/fetch";
import Bottleneck from "bottleneck";
import { Redis } from "ioredis";
import { expect, inject, onTestFinished } from "vitest";
import { deferred } from "../../http/support/deferred.ts";
import { page } from "../markdown.ts";
import { describeRows } from "./rows.ts";
import { tablesIn } from "./side-by-side.ts";

const it = page("docs/moving/from-bottleneck.md");

/** Runs a job with one of the two limiters. */
type Schedule = <Result>(job: () => Promise<Result>) => Promise<Result>;

type Limits = Parameters<typeof createLimiter>[0];

/** The two limiters that a test compares. */
function schedulers(there: Bottleneck.ConstructorOptions, here: Limits): readonly Schedule[] {
  const before = new Bottleneck(there);
  const after = createLimiter(here);
  onTestFinished(() => void before.disconnect());
  return [(job) => before.schedule(job), (job) => after.run("partner", job)];
}

/** The start of each job in milliseconds after its submission, and the highest number of jobs that ran at once. */
async function pace(schedule: Schedule, count: number, lasts = 0) {
  const start = performance.now();
  const begins: number[] = [];
  let running = 0;
  let most = 0;
  const job = async () => {
    begins.push(performance.now());
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, lasts));
    running -= 1;
  };
  await Promise.all(Array.from({ length: count }, () => schedule(job)));
  return { begins: begins.map((at) => at - start), most };
}

/** Starts a job on each side. Resolves when all have started, with a function that ends them. */
async function begin(
  sides: readonly Schedule[],
): Promise<{ readonly finish: () => Promise<void> }> {
  let end = () => {};
  const ending = new Promise<void>((resolve) => {
    end = resolve;
  });
  let jobs: readonly Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    let begun = 0;
    jobs = sides.map((schedule) =>
      schedule(async () => {
        begun += 1;
        if (begun === sides.length) resolve();
        await ending;
      }),
    );
  });
  return {
    async finish() {
      end();
      await Promise.all(jobs);
    },
  };
}

/** Node's timers may fire a millisecond early. */
const EARLY = 2;

async function runsJobs(): Promise<void> {
  for (const schedule of schedulers({ maxConcurrent: 1 }, { limits: slots(1) })) {
    expect(await schedule(async () => "done")).toBe("done");
    await expect(schedule(() => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  }
}

const slots = (limit: number) => concurrency({ limit, ttl: "30s" });

describeRows(
  tablesIn(it, "Every option"),
  {
    async maxConcurrent() {
      for (const schedule of schedulers({ maxConcurrent: 2 }, { limits: slots(2) })) {
        expect((await pace(schedule, 6, 20)).most).toBe(2);
      }
    },
    async expiration() {
      const [before, after] = schedulers({ maxConcurrent: 1 }, { limits: slots(1) });
      const endless = new Bottleneck({ maxConcurrent: 1 });
      onTestFinished(() => void endless.disconnect());
      const never = () => new Promise<never>(() => {});
      await expect(endless.schedule({ expiration: 20 }, never)).rejects.toThrow("timed out");
      const until = () =>
        new Promise<never>((_, reject) => {
          const signal = AbortSignal.timeout(20);
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      await expect(after?.(until)).rejects.toThrow("timeout");
      // The slot is free again.
      for (const schedule of [before, after]) expect(await schedule?.(async () => 1)).toBe(1);
    },
    async minTime() {
      const steady = { limits: gcra({ limit: 1, window: "50ms" }) };
      for (const schedule of schedulers({ minTime: 50 }, steady)) {
        const { begins } = await pace(schedule, 4);
        for (const [i, at] of begins.entries()) expect(at).toBeGreaterThanOrEqual(50 * i - EARLY);
      }
    },
    async reservoir() {
      const each: readonly (readonly [Bottleneck.ConstructorOptions, Limits])[] = [
        [
          { reservoir: 2, reservoirRefreshAmount: 2, reservoirRefreshInterval: 500 },
          { limits: fixedWindow({ limit: 2, window: "500ms" }) },
        ],
        [
          {
            reservoir: 2,
            reservoirIncreaseAmount: 1,
            reservoirIncreaseInterval: 500,
            reservoirIncreaseMaximum: 2,
          },
          { limits: tokenBucket({ capacity: 2, refill: 1, every: "500ms" }) },
        ],
      ];
      for (const [there, here] of each) {
        for (const schedule of schedulers(there, here)) {
          const { begins } = await pace(schedule, 3);
          // Bottleneck refills with a timer that starts with the limiter and fires every 250 ms.
          expect(begins[2]).toBeGreaterThanOrEqual(200);
        }
      }
    },
    async "schedule(fn)"() {
      await runsJobs();
      const sent: number[] = [];
      const paced = limitFetch({
        limits: gcra({ limit: 1, window: "50ms" }),
        fetch: async () => {
          sent.push(performance.now());
          return new Response();
        },
      });
      onTestFinished(() => paced.limiter.close());
      const start = performance.now();
      await Promise.all([1, 2, 3].map(() => paced("https://partner.example")));
      expect(sent).toHaveLength(3);
      for (const [i, at] of sent.entries()) {
        expect(at - start).toBeGreaterThanOrEqual(50 * i - EARLY);
      }
    },
    async "wrap(fn)"() {
      const before = new Bottleneck({ maxConcurrent: 1 });
      onTestFinished(() => void before.disconnect());
      const after = createLimiter({ limits: slots(1) });
      const double = async (n: number) => n * 2;
      const wrapped = [
        before.wrap(double),
        (n: number) => after.run("partner", async () => double(n)),
      ];
      for (const run of wrapped) expect(await run(21)).toBe(42);
    },
    async "submit(fn, callback)"() {
      const before = new Bottleneck({ maxConcurrent: 1 });
      onTestFinished(() => void before.disconnect());
      const after = createLimiter({ limits: slots(1) });
      const double = (n: number, done: (error: null, result: number) => void) => done(null, n * 2);
      const results = await Promise.all([
        new Promise((resolve) => {
          before.submit(double, 21, (_, result) => resolve(result));
        }),
        new Promise((resolve) => {
          void after.run("partner", async () => 21 * 2).then(resolve);
        }),
      ]);
      expect(results).toEqual([42, 42]);
    },
    async "chain(limiter)"() {
      const there = [3, 2].map((maxConcurrent) => new Bottleneck({ maxConcurrent }));
      onTestFinished(() => void there.forEach((limiter) => void limiter.disconnect()));
      const [outer, inner] = there as [Bottleneck, Bottleneck];
      outer.chain(inner);
      const [three, two] = [3, 2].map((limit) => createLimiter({ limits: slots(limit) }));
      const chains: readonly Schedule[] = [
        (job) => outer.schedule(job),
        async (job) => three?.run("all", () => two?.run("partner", job)) as ReturnType<typeof job>,
      ];
      for (const schedule of chains) expect((await pace(schedule, 6, 20)).most).toBe(2);
    },
    async 'on("failed", retry)'() {
      const before = new Bottleneck({ maxConcurrent: 1 });
      onTestFinished(() => void before.disconnect());
      before.on("failed", async (_, { retryCount }) => (retryCount < 2 ? 1 : undefined));
      const after = createLimiter({ limits: slots(1) });
      const loop = async (job: () => Promise<number>) => {
        for (let retryCount = 0; ; retryCount += 1) {
          try {
            return await job();
          } catch (error) {
            if (retryCount === 2) throw error;
          }
        }
      };
      for (const schedule of [
        (job: () => Promise<number>) => before.schedule(job),
        (job: () => Promise<number>) => after.run("partner", () => loop(job)),
      ]) {
        const order: string[] = [];
        const failing = schedule(async () => {
          order.push("fails");
          throw new Error("failed");
        });
        const next = schedule(async () => order.push("next"));
        await expect(failing).rejects.toThrow("failed");
        await next;
        // Retries keep the slot, so the next job starts after them.
        expect(order).toEqual(["fails", "fails", "fails", "next"]);
      }
      const statuses = [429, 429, 200];
      const again = limitFetch({
        limits: slots(1),
        fetch: async () =>
          new Response("", { status: statuses.shift() ?? 500, headers: { "retry-after": "0.01" } }),
      });
      expect((await again("https://partner.example")).status).toBe(200);
      await again.limiter.close();
    },
    async "running()"() {
      const before = new Bottleneck({ maxConcurrent: 2 });
      const after = createLimiter({ limits: slots(2) });
      const { finish } = await begin([
        (job) => before.schedule(job),
        (job) => after.run("partner", job),
      ]);
      const { limits } = await after.peek("partner", { cost: 0 });
      const [{ limit, remaining } = { limit: 0, remaining: 0 }] = limits;
      expect([await before.running(), limit - remaining]).toEqual([1, 1]);
      await finish();
    },
    async "currentReservoir()"() {
      const before = new Bottleneck({ reservoir: 3 });
      const after = createLimiter({ limits: fixedWindow({ limit: 3, window: "1h" }) });
      await before.schedule(async () => {});
      await after.run("partner", async () => {});
      expect((await after.peek("partner", { cost: 0 })).remaining).toBe(2);
      expect(await before.currentReservoir()).toBe(2);
    },
    async "check()"() {
      const before = new Bottleneck({ maxConcurrent: 1 });
      const after = createLimiter({ limits: slots(1) });
      const check = async () => [await before.check(), (await after.peek("partner")).allowed];
      expect(await check()).toEqual([true, true]);
      const { finish } = await begin([
        (job) => before.schedule(job),
        (job) => after.run("partner", job),
      ]);
      expect(await check()).toEqual([false, false]);
      await finish();
    },
    async "stop()"() {
      const before = new Bottleneck({ maxConcurrent: 1 });
      const after = createLimiter({ limits: slots(1) });
      const sides: readonly Schedule[] = [
        (job) => before.schedule(job),
        (job) => after.run("partner", job),
      ];
      const { finish } = await begin(sides);
      const waiting = sides.map((schedule) => schedule(async () => "never"));
      const rejected = waiting.map((call) => expect(call).rejects.toThrow(/stopped|closed/));
      const stopped = before.stop();
      // Bottleneck waits for the running job, and Headgate does not.
      await after.close();
      await Promise.all(rejected);
      await finish();
      await stopped;
    },
    async weight() {
      const before = new Bottleneck({ reservoir: 3 });
      onTestFinished(() => void before.disconnect());
      const after = createLimiter({ limits: fixedWindow({ limit: 3, window: "1h" }) });
      await before.schedule({ weight: 2 }, async () => {});
      await after.run("partner", async () => {}, { cost: 2 });
      const { remaining } = await after.peek("partner", { cost: 0 });
      expect(remaining).toBe(await before.currentReservoir());
    },
    async highWater() {
      const strategy = Bottleneck.strategy.OVERFLOW;
      const there = { maxConcurrent: 1, highWater: 1, strategy };
      for (const schedule of schedulers(there, { limits: slots(1), maxQueue: 1 })) {
        let finish = () => {};
        const begun = new Promise<void>((resolve) => {
          void schedule(async () => {
            resolve();
            await new Promise<void>((end) => {
              finish = end;
            });
          });
        });
        await begun;
        const waiting = [schedule(async () => 1), schedule(async () => 2)];
        await expect(waiting[1]).rejects.toThrow();
        finish();
        expect(await waiting[0]).toBe(1);
      }
      // A call counts here until it is admitted, even if that happens at once.
      for (const [i, schedule] of schedulers(
        { maxConcurrent: 1, highWater: 2, strategy },
        { limits: slots(1), maxQueue: 2 },
      ).entries()) {
        const refusals = i === 0 ? 1 : 2;
        let refused = 0;
        const opened = deferred();
        const calls = [1, 2, 3, 4].map(() => schedule(() => opened.promise));
        for (const call of calls) {
          call.catch(() => {
            refused += 1;
            if (refused === refusals) opened.resolve();
          });
        }
        const results = await Promise.allSettled(calls);
        const done = results.filter(({ status }) => status === "fulfilled");
        expect(done.length).toBe(4 - refusals);
      }
    },
    async Group() {
      const group = new Bottleneck.Group({ reservoir: 1 });
      onTestFinished(() => void group.disconnect());
      const after = createLimiter({ limits: fixedWindow({ limit: 1, window: "1h" }) });
      for (const key of ["ada", "grace"]) {
        expect(await group.key(key).schedule(async () => key)).toBe(key);
        expect(await after.run(key, async () => key)).toBe(key);
      }
      expect(await group.key("ada").currentReservoir()).toBe(0);
      expect((await after.peek("ada")).allowed).toBe(false);
    },
    async datastore() {
      const name = `bottleneck-${process.pid}-${Date.now()}`;
      const running = { most: 0, now: 0 };
      const limiters = [1, 2].map(() => {
        const client = new Redis(inject("redisSocket"));
        onTestFinished(() => client.disconnect());
        return createLimiter({
          name,
          limits: slots(1),
          store: redisStore(client),
          storeTimeout: "10s",
        });
      });
      const job = async () => {
        running.most = Math.max(running.most, ++running.now);
        await new Promise((resolve) => setTimeout(resolve, 20));
        running.now -= 1;
      };
      await Promise.all([...limiters, ...limiters].map((limiter) => limiter.run("partner", job)));
      expect(running.most).toBe(1);
    },
  },
  ["key(id)", "strategy", "id", "updateSettings()", "disconnect()"],
);
