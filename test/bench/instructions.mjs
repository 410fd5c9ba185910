import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { startRedis } from "./start-redis.mjs";

/**
 * Counts what Redis executes, which no other process disturbs: `use` gets a client of a server under callgrind, and
 * `count(calls, ask)`, which resolves with the instructions of one call. Resolves with false where valgrind is missing.
 */
export async function countInstructions(use) {
  if (spawnSync("valgrind", ["--version"]).status !== 0) return false;
  const redis = await startRedis({
    under: ["valgrind", "--tool=callgrind", "--callgrind-out-file=callgrind.out"],
    // Its clock ticks seldom: what it does then is no part of a decision.
    args: ["--hz", "1"],
  });
  const client = new Redis(redis.port, "127.0.0.1");

  async function count(calls, ask) {
    // Everybody is known by then.
    await ask(calls);
    const once = await countOf(() => ask(calls));
    const twice = await countOf(() => ask(2 * calls));
    // What does not grow with the calls cancels.
    return (twice - once) / calls;
  }

  /** Instructions between two dumps; a dump begins the count anew. */
  async function countOf(run) {
    dump();
    await run();
    return readTotal(dump());
  }

  function dump() {
    const before = new Set(readdirSync(redis.dir));
    execFileSync("callgrind_control", ["--dump", String(redis.pid)], { stdio: "ignore" });
    const added = readdirSync(redis.dir).filter((name) => !before.has(name));
    return added.map((name) => join(redis.dir, name));
  }

  try {
    await use(client, count);
  } finally {
    client.disconnect();
    await redis.close();
  }
  return true;
}

function readTotal(files) {
  const totals = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^(?:totals|summary): (\d+)/gm)].map(([, number]) =>
      Number(number),
    ),
  );
  if (totals.length === 0) throw new Error("callgrind wrote no totals");
  return Math.max(...totals);
}
