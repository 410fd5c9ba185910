// One limiter in a new process that has decided nothing yet.
import assert from "node:assert/strict";
import { openClient } from "../clients.mjs";
import { makeLimiter } from "../limiters/catalogue.mjs";
import { answer, readSetup } from "../other-process.mjs";

const { name, port } = readSetup();
const settings = {
  library: "ioredis",
  prefix: "new",
  quotas: [{ limit: 1_000, windowMs: 60_000 }],
};
// Connected before, which is no part of a limiter's start.
const client = await openClient("ioredis", port);

/** Creates the limiter and asks it once, without waiting for it to be ready. */
async function start() {
  const limiter = await makeLimiter(name, { ...settings, client });
  assert.ok(limiter.isAllowed(await limiter.consume("user-1")));
  return limiter;
}

answer({
  /** How long that takes. */
  async firstDecision() {
    const cpuFrom = process.cpuUsage();
    const from = performance.now();
    await start();
    const milliseconds = performance.now() - from;
    const { user, system } = process.cpuUsage(cpuFrom);
    return { milliseconds, cpuMilliseconds: (user + system) / 1_000 };
  },

  /** Decides once a second from now on, or never again. */
  async run(isBusy) {
    const limiter = await start();
    if (!isBusy) return;
    let calls = 0;
    setInterval(() => {
      calls += 1;
      // A rejection ends the process, and with it the run.
      void limiter.consume(`user-${calls}`);
    }, 1_000);
  },
});
