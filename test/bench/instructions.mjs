import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { startRedis } from "./start-redis.mjs";

/** Whether instructions can be counted here. */
export function hasValgrind() {
  return spawnSync("valgrind", ["--version"]).status === 0;
}

/**
 * Starts a server under callgrind, which counts what it executes, and no other process disturbs. `count(calls, run)` resolves
 * with the instructions of one call; what `run` needs has to be there: a script that is loaded, a subject that is known.
 */
export async function startCounting() {
  const redis = await startRedis({
    under: ["valgrind", "--tool=callgrind", "--callgrind-out-file=callgrind.out"],
    // Its clock ticks seldom: what it does then is no part of a decision.
    args: ["--hz", "1"],
  });
  const client = new Redis(redis.port, "127.0.0.1");

  async function count(calls, run) {
    const once = await countOf(() => run(calls));
    const twice = await countOf(() => run(2 * calls));
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

  async function close() {
    client.disconnect();
    await redis.close();
  }

  return { client, count, close };
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
