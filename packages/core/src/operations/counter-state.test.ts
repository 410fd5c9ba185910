import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { numbersIn } from "../algorithms/algorithm.ts";
import { compilePolicy } from "../algorithms/compile-policy.ts";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { slidingLog } from "../algorithms/sliding-log.ts";
import { slidingWindow } from "../algorithms/sliding-window.ts";
import { tokenBucket } from "../algorithms/token-bucket.ts";
import type { Limit } from "../common/policy.ts";
import { MemoryTable, OBJECT_FORMAT } from "../store/memory-table.ts";
import { charge } from "./charge.ts";
import { confirm } from "./confirm.ts";
import type { Counter } from "./counter.ts";
import { prepareLimits } from "./counter.ts";
import { decide, peek } from "./decide.ts";
import { refund } from "./refund.ts";
import { reset } from "./reset.ts";
import { block } from "./set-block.ts";

const SECOND = 1_000_000;

const block1 = { after: 2, for: "3s" } as const;
const LIMITS: readonly Limit[] = [
  gcra({ limit: 5, window: "7s", name: "gcra" }),
  gcra({ limit: 3, window: "5s", name: "counted", block: block1 }),
  tokenBucket({ capacity: 4, refill: 3, every: "10s", name: "bucket", block: ["2s", "4s"] }),
  fixedWindow({ limit: 4, window: "6s", name: "window", notifyAt: [0.5, 1] }),
  fixedWindow({ limit: 6, window: "day", name: "day", block: block1 }),
  slidingWindow({ limit: 5, window: "4s", name: "weighted", notifyAt: [0.5] }),
  slidingWindow({ limit: 6, window: "9s", buckets: 3, name: "sub-windows", block: block1 }),
];
const SETTLED: readonly Limit[] = [
  fixedWindow({ limit: 4, window: "6s", name: "settled", block: "2s" }),
  fixedWindow({ limit: 3, window: "day", name: "settled by day", block: "2s" }),
];

const policies = fc.oneof(
  fc.subarray([...LIMITS], { minLength: 1 }).map((limits) => compilePolicy(limits)),
  fc.subarray([...SETTLED], { minLength: 1 }).map((limits) => compilePolicy(limits, "settle")),
);

const moves = fc.array(
  fc.record({
    move: fc.constantFrom(
      "decide",
      "decide",
      "decide",
      "peek",
      "charge",
      "settle",
      "block",
      "reset",
    ),
    subject: fc.constantFrom("a", "b"),
    cost: fc.nat(3),
    rest: fc.oneof(fc.nat(SECOND), fc.nat(8 * SECOND)),
  }),
  { minLength: 10, maxLength: 60 },
);

test.prop([policies, moves])(
  "a counter stored as numbers replies like one that is stored as an object",
  (limits, steps) => {
    const prepared = prepareLimits(limits);
    /** Carries out the moves in this format. Returns all replies. */
    function repliesIn(rowFormat: Counter["rowFormat"]): unknown[] {
      const table = new MemoryTable(10);
      let now = 86_390 * SECOND;
      let charged: { readonly now: number; readonly generation: number } | undefined;
      return steps.map(({ move, subject, cost, rest }, i) => {
        now += rest;
        const counters: readonly Counter[] = [
          { ...prepared, rowFormat, key: subject, keyspace: "" },
        ];
        const context = { now, generation: i + 1 };
        if (move === "decide" || move === "peek") {
          const operation = move === "peek" ? peek : decide;
          const mode = move === "peek" ? "peek" : "enforce";
          const decision = operation.runInMemory({ cost, mode, counters }, table, context);
          const [{ generation = 0, blockedFor, limits: reported } = {}] = decision.counters;
          charged = decision.allowed ? { now, generation } : charged;
          const thresholds = decision.thresholds.map(({ counter: _, ...others }) => others);
          return { allowed: decision.allowed, generation, blockedFor, reported, thresholds };
        }
        if (move === "charge") return charge.runInMemory({ cost, counters }, table, context).units;
        if (move === "reset") return reset.runInMemory(counters, table, context);
        if (move === "block") {
          return block.runInMemory({ counters, duration: cost * SECOND }, table, context);
        }
        const { now: chargedAt = 0, generation = 0 } = charged ?? {};
        const receipt = { cost, chargedAt, counters, generations: [generation] };
        return prepared.shape.blocksOnSettle
          ? confirm.runInMemory({ ...receipt, units: 1, mayBlock: true }, table, context)
          : refund.runInMemory(receipt, table, context);
      });
    }
    expect(prepared.rowFormat).not.toBe(OBJECT_FORMAT);
    expect(repliesIn(prepared.rowFormat)).toEqual(repliesIn(OBJECT_FORMAT as Counter["rowFormat"]));
  },
);

test.prop([policies, fc.array(fc.nat(2 * SECOND), { minLength: 1, maxLength: 20 })])(
  "a state loaded from its numbers equals the state that was stored",
  (limits, rests) => {
    for (const { algorithm, quota, shape } of limits) {
      const state = algorithm.createState(quota);
      let now = 0;
      for (const rest of rests) {
        now += rest;
        algorithm.advance(state, quota, rest, now);
        algorithm.spend(state, quota, 1);
      }
      const numbers = new Float64Array(numbersIn(shape) + 1);
      algorithm.storeState?.(state, numbers, 1);
      const loaded = algorithm.createState(quota);
      algorithm.loadState?.(loaded, numbers, 1);
      // The time of a state is set when it is advanced.
      expect({ ...(loaded as object), now: 0 }).toEqual({ ...(state as object), now: 0 });
    }
  },
);

test("counters with a log or slots are stored as objects", () => {
  for (const limit of [
    slidingLog({ limit: 5, window: "1m", block: block1 }),
    concurrency({ limit: 5, ttl: "1m" }),
  ]) {
    expect(prepareLimits(compilePolicy(limit)).rowFormat).toBe(OBJECT_FORMAT);
  }
});
