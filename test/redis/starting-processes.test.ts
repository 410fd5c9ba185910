import type { ChildProcess } from "node:child_process";
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";

const LIMIT = 500;

/** On a core that is busy with other things as well. */
const STARTS_WITHIN_MS = 240_000;

interface Totals {
  readonly requests: number;
  readonly admitted: number;
  readonly degraded: number;
}

const script = fileURLToPath(new URL("starting-process.mjs", import.meta.url));
const redis = useOwnRedis();

function start(name: string, atOnce: number): ChildProcess {
  const child = fork(script, [redis.server.socket, name, `${atOnce}`], { execArgv: [] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function messageOf(child: ChildProcess): Promise<unknown> {
  const gone = once(child, "exit").then(([code]): never => {
    throw new Error(`a process ended with code ${code}`);
  });
  gone.catch(() => {});
  const [message] = await Promise.race([once(child, "message"), gone]);
  return message;
}

async function endOf(child: ChildProcess): Promise<Totals> {
  const totals = messageOf(child);
  child.send("stop");
  return (await totals) as Totals;
}

/** Moves a process to one core, where there is a way to. */
function pin({ pid }: ChildProcess): void {
  spawnSync("taskset", ["-p", "-c", "0", `${pid}`]);
}

test(
  "twenty processes that start at once on one core together admit exactly the limit",
  async () => {
    const fleet = Array.from({ length: 20 }, () => start("fleet", 100));
    for (const child of fleet) pin(child);
    await Promise.all(fleet.map(messageOf));
    const totals = await Promise.all(fleet.map(endOf));
    const admitted = totals.reduce((sum, one) => sum + one.admitted, 0);
    const degraded = totals.reduce((sum, one) => sum + one.degraded, 0);
    expect({ admitted, degraded }).toEqual({ admitted: LIMIT, degraded: 0 });
  },
  STARTS_WITHIN_MS,
);

test("a process that is stopped repeatedly does not consider Redis to be down", async () => {
  const child = start("stopped", 10);
  await messageOf(child);
  for (let i = 0; i < 5; i += 1) {
    child.kill("SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, 250));
    child.kill("SIGCONT");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { degraded, admitted, requests } = await endOf(child);
  expect(requests).toBeGreaterThan(10);
  // A slow machine makes fewer requests than the limit grants.
  expect({ admitted, degraded }).toEqual({ admitted: Math.min(LIMIT, requests), degraded: 0 });
});
