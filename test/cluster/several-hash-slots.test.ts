import type { Decision, Limit, Limiter } from "@headgate/core";
import { createLimiter, fixedWindow, gcra, slidingLog, tokenBucket } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Random } from "../conformance/random/random.ts";
import type { Connection } from "../redis/clients.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import type { ClusterClientName } from "./cluster-clients.ts";
import { connectCluster } from "./cluster-clients.ts";
import { subjectOnEach } from "./subjects-of.ts";

/** No unit comes back while a test runs. */
const window = "7d";
const ROUNDS = Number(process.env["HEADGATE_LONG"] ?? 0) === 1 ? 100 : 8;
const ASKS = 120;

/** What is left of a limit in whole units, where what drained while a denied decision held it may be missing. */
const DRAINS: ReadonlySet<string> = new Set(["gcra", "tokenBucket"]);

type Dimension = "user" | "tenant" | "route";
type Subjects = Readonly<Record<Dimension, string>>;

let cluster: RedisCluster;
const open: { close(): Promise<unknown> }[] = [];
let clock: number | undefined;

beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());
afterEach(async () => {
  clock = undefined;
  for (const one of open.splice(0).reverse()) await one.close();
});

async function connection(library: ClusterClientName): Promise<Connection> {
  const connected = await connectCluster[library](cluster.addresses);
  open.push(connected);
  return connected;
}

/** A limiter with a client of its own, whose clock is the test's when that is set at the time. */
async function limiter(
  library: ClusterClientName,
  name: string,
  limits: readonly Limit[],
  options: { readonly denyCache?: boolean } = {},
): Promise<Limiter> {
  const { client } = await connection(library);
  const store =
    clock === undefined ? redisStore(client) : redisStore(client, { clock: () => clock as number });
  const made = createLimiter({
    name,
    limits,
    store,
    storeTimeout: "30s",
    denyCache: false,
    ...options,
  }) as Limiter;
  open.push(made);
  return made;
}

async function subjects(): Promise<Subjects> {
  const [user, tenant, route] = (await subjectOnEach(cluster)) as [string, string, string];
  return { user, tenant, route };
}

function randomPolicy(random: Random): Limit[] {
  const of = (per: Dimension): Limit => {
    const limit = random.whole(4, 40);
    return random.pick<Limit>([
      gcra({ limit, window, per, name: per }),
      tokenBucket({ capacity: limit, refill: 1, every: window, per, name: per }),
      fixedWindow({ limit, window, per, name: per }),
      slidingLog({ limit, window, per, name: per }),
    ]);
  };
  return [of("user"), of("tenant"), of("route")];
}

function mostOf(limit: Limit): number {
  return limit.algorithm === "tokenBucket" ? limit.capacity : limit.limit;
}

describe("decisions across several hash slots by several processes at once", () => {
  test.for(Array.from({ length: ROUNDS }, (_, round) => round + 1))(
    "decisions across several hash slots admit no more than each limit, and denials charge nothing (seed %i)",
    async (seed) => {
      const random = new Random(seed);
      const policy = randomPolicy(random);
      const libraries = ["ioredis 6", "node-redis 6", "ioredis 5", "node-redis 5"] as const;
      const limiters = await Promise.all(
        libraries.map((library) => limiter(library, `storm-${seed}`, policy)),
      );
      const [first, second] = [await subjects(), await subjects()];
      const pending: { readonly who: Subjects; readonly answer: Promise<Decision> }[] = [];
      for (let i = 0; i < ASKS; i += 1) {
        // Users share tenants and routes, so that decisions meet in some slots and not in others.
        const who = {
          user: random.pick([first, second]).user,
          tenant: random.pick([first, second]).tenant,
          route: first.route,
        };
        const cost = random.whole(1, 3);
        pending.push({ who, answer: random.pick(limiters).consume(who, { cost }) });
        if (random.chance(0.05)) await pending.at(-1)?.answer;
      }
      const admitted = new Map<string, number>();
      for (const { who, answer } of pending) {
        const decision = await answer;
        expect(decision.degraded).toBe(false);
        expect(decision.limits.map(({ name }) => name)).toEqual(["user", "tenant", "route"]);
        if (!decision.allowed) {
          expect(decision.retryAfterMs).toBeGreaterThan(0);
          continue;
        }
        for (const [dimension, subject] of Object.entries(who)) {
          const key = `${dimension} ${subject}`;
          admitted.set(key, (admitted.get(key) ?? 0) + Number(decision.cost));
        }
      }
      for (const limit of policy) {
        const per = limit.per as Dimension;
        for (const who of [first, second]) {
          const units = admitted.get(`${per} ${who[per]}`) ?? 0;
          expect(units).toBeLessThanOrEqual(mostOf(limit));
          const missing = await unitsMissing(
            limiters[0] as Limiter,
            { ...first, [per]: who[per] },
            per,
            units,
          );
          expect(missing).toBeGreaterThanOrEqual(0);
          expect(missing).toBeLessThanOrEqual(DRAINS.has(limit.algorithm) ? 1 : 0);
        }
      }
    },
  );

  /** How many units of a limit are charged beyond those admitted. */
  async function unitsMissing(
    one: Limiter,
    who: Subjects,
    per: Dimension,
    admitted: number,
  ): Promise<number> {
    const look = await one.peek(who, { cost: 0 });
    expect(look).toMatchObject({ allowed: true, source: "store" });
    const state = look.limits.find(({ name }) => name === per);
    if (state === undefined) throw new Error(`no limit ${per}`);
    return state.limit - admitted - state.remaining;
  }
});

describe.each(["ioredis 6", "node-redis 6"] as const)(
  "a decision across several hash slots, through %s",
  (library) => {
    const tight = fixedWindow({ limit: 2, window: "10s", per: "tenant", name: "tight" });
    const loose = slidingLog({ limit: 9, window: "1h", per: "user", name: "loose" });
    const third = gcra({ limit: 5, window: "1m", per: "route", name: "third" });

    test("a denial across several hash slots reports every limit, and charges nothing", async () => {
      const one = await limiter(library, "complete", [loose, tight, third]);
      const who = await subjects();
      await one.consume(who);
      await one.consume(who);
      const denied = await one.consume(who);
      expect(denied).toMatchObject({ allowed: false, degraded: false, source: "store", limit: 2 });
      expect(denied.limits.map(({ name, allowed }) => [name, allowed])).toEqual([
        ["loose", true],
        ["tight", false],
        ["third", true],
      ]);
      for (let i = 0; i < 20; i += 1) await one.consume(who);
      const fresh = await subjects();
      // Another tenant has room: the user's and the route's units show what the denials cost them.
      const look = await one.peek({ ...who, tenant: fresh.tenant });
      expect(look.limits[0]?.remaining).toBe(9 - 2 - 1);
    });

    test("a denial across several hash slots sets its block in the one that denied, for every process", async () => {
      const guarded = { ...tight, window: "1h", block: ["1d", "2d"] } as const;
      const [one, other] = [
        await limiter(library, "blocked", [loose, guarded, third]),
        await limiter(library, "blocked", [loose, guarded, third]),
      ];
      const who = await subjects();
      await one.consume(who);
      await one.consume(who);
      const denials = await Promise.all([one, other].map((each) => each.consume(who)));
      for (const { blocked, limits } of [...denials, await other.consume(who)]) {
        expect(blocked).toBe(true);
        expect(limits.map(({ allowed }) => allowed)).toEqual([true, false, true]);
        expect(limits[1]?.retryAfterMs).toBeGreaterThan(86_000_000);
        expect(limits[1]?.retryAfterMs).toBeLessThanOrEqual(86_400_000);
      }
      const fresh = await subjects();
      const look = await one.peek({ ...who, tenant: fresh.tenant }, { cost: 0 });
      expect(look).toMatchObject({ blocked: false, limits: [{ remaining: 9 - 2 }, {}, {}] });
      expect(await one.unblock(who)).toBe(true);
      expect(await other.consume(who)).toMatchObject({ allowed: true, blocked: false });
      await one.block({ user: who.user }, "1h");
      expect(await other.consume(who)).toMatchObject({ allowed: false, blocked: true });
    });

    test("the wait of a denial across several hash slots is exact: one millisecond less is denied", async () => {
      clock = 1_900_000_000_000;
      const one = await limiter(library, "honest", [loose, tight, third], { denyCache: false });
      const who = await subjects();
      for (let denials = 0; denials < 6; ) {
        const decision = await one.consume(who);
        if (decision.allowed) continue;
        denials += 1;
        const denials0 = decision.limits.filter(({ allowed }) => !allowed);
        expect(decision.retryAfterMs).toBe(
          Math.max(...denials0.map(({ retryAfterMs }) => retryAfterMs)),
        );
        clock += decision.retryAfterMs - 1;
        expect((await one.peek(who)).allowed).toBe(false);
        clock += 1;
        expect((await one.peek(who)).allowed).toBe(true);
      }
    });

    test("settle and charge work across several hash slots", async () => {
      const one = await limiter(library, "settled", [
        fixedWindow({ limit: 9, window, per: "user" }),
        slidingLog({ limit: 9, window, per: "tenant" }),
        fixedWindow({ limit: 9, window, per: "route" }),
      ]);
      const who = await subjects();
      const left = async () => {
        const { limits } = await one.peek(who, { cost: 0 });
        return limits.map(({ remaining, overdrawn }) => remaining - overdrawn);
      };
      const less = await one.consume(who, { cost: 4 });
      const more = await one.consume(who, { cost: 2 });
      expect(await one.settle(less, 1)).toEqual({ charged: 1, overflow: 0, degraded: false });
      expect(await left()).toEqual([6, 6, 6]);
      expect(await one.settle(more, 5)).toEqual({ charged: 5, overflow: 0, degraded: false });
      expect(await left()).toEqual([3, 3, 3]);
      const penalty = await one.charge({ ...who, route: null }, { cost: 7 });
      expect(penalty).toEqual({ charged: 7, overflow: 0, degraded: false });
      expect(await left()).toEqual([-4, -4, 3]);
      expect((await one.consume(who)).allowed).toBe(false);
    });

    test("refund and reset work across several hash slots", async () => {
      const one = await limiter(library, "given-back", [
        fixedWindow({ limit: 3, window, per: "user" }),
        slidingLog({ limit: 3, window, per: "tenant" }),
        fixedWindow({ limit: 3, window, per: "route" }),
      ]);
      const who = await subjects();
      const left = async () => (await one.peek(who)).limits.map(({ remaining }) => remaining);
      const first = await one.consume(who, { cost: 2 });
      expect(await left()).toEqual([0, 0, 0]);
      expect(await one.refund(first)).toBe(true);
      expect(await one.refund(first)).toBe(false);
      expect(await left()).toEqual([2, 2, 2]);
      await one.consume(who, { cost: 3 });
      expect((await one.consume(who)).allowed).toBe(false);
      expect(await one.reset({ user: who.user, tenant: who.tenant })).toBe(true);
      const again = await one.consume(who);
      expect(again.limits.map(({ allowed }) => allowed)).toEqual([true, true, false]);
      expect(await one.reset(who)).toBe(true);
      expect((await one.consume(who)).allowed).toBe(true);
    });
  },
);
