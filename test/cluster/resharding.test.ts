import { setImmediate } from "node:timers/promises";
import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingWindow, tokenBucket } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { topologyOf } from "../../packages/core/src/redis/topology.ts";
import { Random } from "../conformance/random/random.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import type { SlotMigration } from "../support/slot-migration.ts";
import { connectCluster } from "./cluster-clients.ts";

const isLong = process.env["HEADGATE_LONG"] === "1";
const ROUNDS = isLong ? 20 : 2;
/** In each round. */
const RESHARDINGS = isLong ? 20 : 4;

/** Hash slots that move, and subjects in each. */
const SLOTS = 6;
const SUBJECTS_PER_SLOT = 4;
/** The first primary has at least so many hash slots at first, from 0 on. */
const FIRST_SLOTS = 5_000;
/** The most decisions that one process requests at once. */
const BURST = 40;

/** The clock stands still, so that nothing drains and no window ends. */
const NOW = 1_900_000_000_000;
const window = "1h";
const TIGHT = 60;
const WIDE = 1_000_000;

let cluster: RedisCluster;
/** Subjects by the hash slot that they are in, which is the first server's at first. */
let moving: readonly (readonly string[])[] = [];
const staying = Array.from({ length: 90 }, (_, i) => `staying-${i}`);

beforeAll(async () => {
  cluster = await startCluster();
  const { hashSlotOf } = topologyOf({ slots: [] });
  const bySlot = new Map<number, string[]>();
  for (let i = 0; i < 50_000; i += 1) {
    const slot = hashSlotOf(`{moving-${i}}`);
    const subjects = bySlot.get(slot) ?? [];
    if (subjects.push(`moving-${i}`) === 1) bySlot.set(slot, subjects);
  }
  moving = [...bySlot]
    .filter(([slot, subjects]) => slot < FIRST_SLOTS && subjects.length >= SUBJECTS_PER_SLOT)
    .slice(0, SLOTS)
    .map(([, subjects]) => subjects.slice(0, SUBJECTS_PER_SLOT));
});
afterAll(() => cluster?.stop());

/** Limits of which the first is the tightest. */
function randomLimits(random: Random, limit: number): readonly Limit[] {
  const name = "first";
  const first = random.pick<Limit>([
    fixedWindow({ name, limit, window }),
    gcra({ name, limit, window }),
    tokenBucket({ name, capacity: limit, refill: 1, every: window }),
    slidingWindow({ name, limit, window }),
  ]);
  return random.chance(0.5)
    ? [first]
    : [first, fixedWindow({ limit: 2 * limit, window, name: "second" })];
}

/** The processes of one round, each with a limiter that runs out and one that does not. */
async function startProcesses(random: Random, name: string): Promise<readonly Limiter[][]> {
  const limits = [TIGHT, WIDE].map((limit) => ({ limit, limits: randomLimits(random, limit) }));
  const processes: Limiter[][] = [];
  for (const library of ["ioredis 6", "node-redis 6", "Valkey GLIDE"] as const) {
    const { client, close } = await connectCluster[library](cluster.addresses);
    onTestFinished(async () => void (await close()));
    const store = redisStore(client, { clock: () => NOW });
    const limiters = limits.map(({ limit, limits }) =>
      createLimiter({
        name: `${name}-${limit}`,
        limits,
        store,
        storeTimeout: "30s",
        denyCache: false,
      }),
    );
    for (const limiter of limiters) onTestFinished(() => limiter.close());
    processes.push(limiters as Limiter[]);
  }
  return processes;
}

/** Moves some hash slots at once, a few keys at a time, with decisions between them. */
async function reshard(random: Random, someDecisions: () => Promise<void>): Promise<void> {
  const migrations: SlotMigration[] = [];
  for (const [subject] of random.shuffle(moving).slice(0, random.whole(1, 3))) {
    const slot = await cluster.slotOf(subject as string);
    const owner = await cluster.primaryOf(slot);
    const to = random.pick(cluster.nodes.filter((node) => node !== owner));
    migrations.push(await cluster.beginMigration(slot, to));
    await someDecisions();
  }
  const open = new Set(migrations);
  while (open.size > 0) {
    const migration = random.pick([...open]);
    const keys = await migration.keysLeft();
    await migration.moveKeys(random.shuffle(keys).slice(0, random.whole(1, 3)));
    if (keys.length === 0) open.delete(migration);
    await someDecisions();
  }
  for (const migration of migrations) {
    await migration.finish();
    await someDecisions();
  }
}

/** How often the primaries answered with an error code. */
async function countErrors() {
  const counts = { ASK: 0, MOVED: 0, ERR: 0 };
  for (const { admin } of cluster.nodes) {
    const info = String(await admin.command("INFO", "errorstats"));
    for (const code of ["ASK", "MOVED", "ERR"] as const) {
      counts[code] += Number(new RegExp(`errorstat_${code}:count=(\\d+)`).exec(info)?.[1] ?? 0);
    }
  }
  return counts;
}

test.for(Array.from({ length: ROUNDS }, (_, round) => round + 1))(
  "while hash slots are being moved, each subject is granted exactly its limit (seed %i)",
  async (seed) => {
    const random = new Random(seed);
    const processes = await startProcesses(random, `reshard-${seed}`);
    for (const { admin } of cluster.nodes) await admin.command("CONFIG", "RESETSTAT");
    /** Charged units by limiter, then by subject. */
    const charged = [new Map<string, number>(), new Map<string, number>()];
    const unexpected: Decision[] = [];
    let decisions = 0;
    let isOver = false;

    async function consume(limiter: Limiter, which: number, subject: string): Promise<void> {
      const decision = await limiter.consume(subject);
      decisions += 1;
      if (decision.degraded || decision.source !== "store") unexpected.push(decision);
      const units = charged[which] as Map<string, number>;
      if (decision.allowed) units.set(subject, (units.get(subject) ?? 0) + 1);
    }

    async function load(limiters: readonly Limiter[], stream: number): Promise<void> {
      const random = new Random(seed, stream);
      const stop = (error: unknown) => {
        isOver = true;
        throw error;
      };
      while (!isOver) {
        const subjects = random.pick([
          staying,
          [...staying, ...moving.flat()],
          random.pick(moving),
        ]);
        const burst = Array.from({ length: random.magnitude(1, BURST) }, () => {
          const which = random.whole(0, 1);
          return consume(limiters[which] as Limiter, which, random.pick(subjects));
        });
        await Promise.all(burst).catch(stop);
      }
    }

    async function someDecisions(): Promise<void> {
      const until = decisions + random.whole(1, 5 * BURST);
      while (decisions < until && !isOver) await setImmediate();
    }

    const callers = processes.map((limiters, i) => load(limiters, i + 1));
    try {
      for (let i = 0; i < RESHARDINGS; i += 1) await reshard(random, someDecisions);
    } finally {
      isOver = true;
      await Promise.all(callers);
    }
    const { ASK, MOVED, ERR } = await countErrors();
    expect(unexpected).toEqual([]);
    // Scripts that were refused a key that they do not declare fail with ERR.
    expect(Math.min(ASK, MOVED, ERR)).toBeGreaterThan(0);
    for (const [which, limit] of [TIGHT, WIDE].entries()) {
      const limiter = processes[0]?.[which] as Limiter;
      for (const subject of [...moving.flat(), ...staying]) {
        const { limits } = await limiter.peek(subject, { cost: 0 });
        const units = (charged[which] as Map<string, number>).get(subject) ?? 0;
        expect([subject, units + (limits[0]?.remaining ?? 0)]).toEqual([subject, limit]);
      }
    }
  },
);
