import { createHash } from "node:crypto";
import type { Limit } from "@headgate/core";
import {
  concurrency,
  fixedWindow,
  gcra,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from "@headgate/core";
import { expect, test } from "vitest";
import * as breaker from "../../../packages/breaker/src/machine/lua.generated.ts";
import { compileLimit } from "../../../packages/core/src/algorithms/compile-policy.ts";
import * as control from "../../../packages/core/src/control/lua.generated.ts";
import * as store from "../../../packages/core/src/operations/lua.generated.ts";
import * as registry from "../../../packages/core/src/registry/lua.generated.ts";
import { composeScript } from "../../../packages/core/src/scripts/compose-script.ts";
import type { CounterShape } from "../../../packages/core/src/scripts/counter-shape.ts";
import { getShape } from "../../../packages/core/src/scripts/counter-shape.ts";
import type { ScriptName } from "../../../packages/core/src/scripts/script-argument.ts";
import * as usage from "../../../packages/core/src/usage/lua.generated.ts";
import { Random } from "../random/random.ts";

/*
 * The text of every script, by its digest. Servers keep scripts by their digest, and processes of two releases share counts, so a
 * script changes only on purpose: `vitest run test/conformance/scripts/script-digests.test.ts -u` writes the digests anew.
 */

const limit = 100;
const window = "1m";
const block = "5m";
const after = { after: 3, for: ["1m", "1h"] } as const;
const timeZone = "Europe/Berlin";

/** One limit of each shape, except for those of windows of other lengths. */
const LIMITS: Readonly<Record<string, Limit>> = {
  gcra: gcra({ limit, window }),
  "gcra-burst": gcra({ limit, window, burst: 20 }),
  "gcra-year": gcra({ limit, window: "366d" }),
  "gcra!": gcra({ limit, window, block }),
  "gcra!after": gcra({ limit, window, block: after }),
  bucket: tokenBucket({ capacity: limit, refill: 10, every: window }),
  "bucket!": tokenBucket({ capacity: limit, refill: 10, every: window, block }),
  "bucket!after": tokenBucket({ capacity: limit, refill: 10, every: window, block: after }),
  fixed: fixedWindow({ limit, window }),
  "fixed-ms": fixedWindow({ limit, window: 1 }),
  "fixed-clock": fixedWindow({ limit, window, align: "clock" }),
  "fixed!": fixedWindow({ limit, window, block }),
  "fixed!after": fixedWindow({ limit, window, block: after }),
  "fixed!kept": fixedWindow({ limit, window, block }),
  "fixed-clock!kept": fixedWindow({ limit, window, align: "clock", block }),
  day: fixedWindow({ limit, window: "day" }),
  week: fixedWindow({ limit, window: "week", timeZone }),
  month: fixedWindow({ limit, window: "month", timeZone }),
  year: fixedWindow({ limit, window: "year" }),
  "day!": fixedWindow({ limit, window: "day", block }),
  "month!after": fixedWindow({ limit, window: "month", block: after }),
  "week!kept": fixedWindow({ limit, window: "week", block }),
  sliding: slidingWindow({ limit, window }),
  "sliding!": slidingWindow({ limit, window, block }),
  "sliding!after": slidingWindow({ limit, window, block: after }),
  "sliding-2": slidingWindow({ limit, window, buckets: 2 }),
  "sliding-60": slidingWindow({ limit, window, buckets: 60 }),
  "sliding-10!": slidingWindow({ limit, window, buckets: 10, block }),
  "sliding-10!after": slidingWindow({ limit, window, buckets: 10, block: after }),
  log: slidingLog({ limit, window }),
  "log!": slidingLog({ limit, window, block }),
  "log!after": slidingLog({ limit, window, block: after }),
  slots: concurrency({ limit, ttl: window }),
};

const COLUMNS: readonly (readonly [ScriptName, isByName: boolean])[] = [
  ["decide-single", false],
  ["decide-up-to", false],
  ...([false, true] as const).flatMap((isByName) =>
    (["decide-batch", "peek", "charge", "refund", "confirm", "block", "slots"] as const).map(
      (script) => [script, isByName] as const,
    ),
  ),
];

/** Names of limits in their order, each list for a counter. */
type Shapes = readonly (readonly string[])[];

/** Lists of every kind of limit alone, by twos, in random company, and with more names than Lua has room for. */
function allShapes(): Shapes[] {
  const names = Object.keys(LIMITS);
  const random = new Random(24);
  const counted = names.filter((name) => name !== "slots");
  const some = (most: number) => random.shuffle(counted).slice(0, random.whole(1, most));
  return [
    ...names.map((name) => [[name]]),
    ...counted.map((name, i) => [[name, counted[(i + 7) % counted.length] as string]]),
    ...Array.from({ length: 30 }, () => [some(4), some(3)]),
    ...Array.from({ length: 15 }, () => [some(2), ["slots"], some(2)]),
    [["slots"], ["slots"]],
    [["fixed!kept"], ["week!kept", "gcra!after", "fixed-clock!kept"]],
    [Array.from({ length: 60 }, () => "gcra")],
    [counted],
    [counted, ["slots"], counted.toReversed()],
  ];
}

function compiled(name: string) {
  return compileLimit(LIMITS[name] as Limit, name.endsWith("kept") ? "settle" : "denial");
}

/** Whether the script is ever asked for with such shapes. */
function isUsed(script: ScriptName, shapes: readonly CounterShape[]): boolean {
  const ofSlots = shapes.filter(({ limits }) => limits.some(({ slotTtl }) => slotTtl));
  if (script === "slots") return shapes.length === 1 && ofSlots.length === 1;
  if (script === "confirm") return shapes.every(({ blocksOnSettle }) => blocksOnSettle);
  return ofSlots.length === 0 || !["charge", "refund"].includes(script);
}

function digestsOf(names: Shapes): string {
  const shapes = names.map((own) => getShape(own.map((name) => compiled(name).shape)));
  const digests = COLUMNS.map(([script, isByName]) => {
    if (!isUsed(script, shapes)) return "-";
    const { source, sha1 } = composeScript(script, shapes, isByName);
    expect(sha1).toBe(createHash("sha1").update(source).digest("hex"));
    return sha1.slice(0, 10);
  });
  const text = names.map((own) => own.join(",")).join(" | ");
  return `${digests.join(" ")}  ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`;
}

test("the composed scripts have the digests on record", async () => {
  const head = COLUMNS.map(([script, isByName]) => (isByName ? `${script}-by-name` : script));
  const lines = [head.join(" "), ...allShapes().map(digestsOf)];
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("./script-digests.txt");
});

test("the embedded scripts have the digests on record", async () => {
  const scripts = Object.entries({ ...store, ...control, ...registry, ...usage, ...breaker });
  const lines = scripts.map(([name, { source, sha1 }]) => {
    expect(sha1).toBe(createHash("sha1").update(source).digest("hex"));
    return `${sha1} ${name}`;
  });
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("./list-script-digests.txt");
});
