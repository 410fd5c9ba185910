import { fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, expect, inject, test } from "vitest";
import { Random } from "../conformance/random/random.ts";

const script = fileURLToPath(new URL("metered-stream.mjs", import.meta.url));
const redis = new Redis(inject("redisSocket"));
afterAll(() => redis.quit());

const LIMIT = 1_000_000_000;

test("what a killed process has charged for a stream stays charged, and is all that it used but the last calls", async () => {
  const random = new Random(3);
  for (let round = 1; round <= 4; round += 1) {
    const name = `killed-${process.pid}-${round}`;
    const [every, chunk] = [random.whole(20, 200), random.whole(1, 50)];
    const child = fork(script, [inject("redisSocket"), name, LIMIT, every, chunk].map(String), {
      execArgv: [],
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const reports: number[] = [];
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const enough = random.whole(300, 1_500);
    for await (const line of lines) {
      reports.push(Number(line));
      // Lines that were written before the kill are read to the end.
      if (reports.length === enough) child.kill("SIGKILL");
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    expect(child.signalCode).toBe("SIGKILL");
    const limits = fixedWindow({ limit: LIMIT, window: "366d" });
    const limiter = createLimiter({ name, limits, store: redisStore(redis), storeTimeout: "1m" });
    const charged = LIMIT - (await limiter.peek("u", { cost: 0 })).remaining;
    await limiter.close();
    const used = reports.at(-1) as number;
    // The last report may not have arrived, and each call carries the units that came since the one before.
    expect(charged).toBeLessThanOrEqual(Math.max(every, used + chunk));
    expect(charged).toBeGreaterThan(used / 2);
    expect(charged % chunk === 0 || charged === every).toBe(true);
  }
});
