// One limiter on one client in a process of its own, as in production: no other limiter's garbage or compiled code affects it.
import assert from "node:assert/strict";
import { openClient, openCluster } from "./clients.mjs";
import { consumeMany } from "./consume-many.mjs";
import { makeLimiter } from "./limiters/catalogue.mjs";
import { answer, readSetup } from "./other-process.mjs";

const { name, library, port, clusterPorts } = readSetup();
const client = await (clusterPorts === undefined
  ? openClient(library, port)
  : openCluster(library, clusterPorts));
const HOUR = 3_600_000;
/** The limiter of each case, and the number of its calls. */
const cases = new Map();

async function makeCase({ limits, isDenied, key, known }) {
  const limit = isDenied ? 1 : 1_000_000;
  // The windows differ, as they do in any policy with several.
  const quotas = Array.from({ length: limits }, (_, i) => ({ limit, windowMs: (i + 1) * HOUR }));
  const limiter = await makeLimiter(name, { library, client, prefix: key, quotas });
  return { limiter, consumed: known };
}

answer({
  /** Whether it counts: asked more often than its limit allows, all at once, it allows as many as that. */
  async verify() {
    const quotas = [{ limit: 100, windowMs: HOUR }];
    const prefix = `verify-${library}`;
    const limiter = await makeLimiter(name, {
      library,
      client,
      prefix: `${prefix}-${name}`,
      quotas,
    });
    const allowed = await consumeMany(limiter, { calls: 300, inFlight: 64, subjects: 1 });
    // A floor has no limit.
    if (limiter.used === undefined) return;
    // Allows one more if units recover during the calls.
    assert.ok(allowed === 100 || allowed === 101, `${allowed} of 100 were allowed`);
    assert.ok((await limiter.used("user-0")) >= 99, "the count is lost");
  },

  /** How many of as many questions a limit admits that other processes share. */
  async admitted(limit) {
    const settings = { library, client, prefix: "admitted", quotas: [{ limit, windowMs: HOUR }] };
    const limiter = await makeLimiter(name, settings);
    return consumeMany(limiter, { calls: limit, inFlight: 64, subjects: 1 });
  },

  async measure({ key, limits, isDenied, inFlight, subjects, known, calls }) {
    if (!cases.has(key)) {
      cases.set(key, await makeCase({ limits, isDenied, key, known }));
      // Every subject has a key already; for the cases of denials, each has used up its limit.
      await consumeMany(cases.get(key).limiter, { calls: known, inFlight: 1_000, subjects });
    }
    const { limiter, consumed } = cases.get(key);
    cases.get(key).consumed += calls;
    const cpuFrom = process.cpuUsage();
    const from = process.hrtime.bigint();
    const allowed = await consumeMany(limiter, { calls, inFlight, subjects, from: consumed });
    const nanoseconds = Number(process.hrtime.bigint() - from);
    const { user, system } = process.cpuUsage(cpuFrom);
    assert.equal(allowed, isDenied ? 0 : calls, `${name}: allowed ${allowed} of ${calls}`);
    return { nanoseconds, cpuMicroseconds: user + system };
  },
});
