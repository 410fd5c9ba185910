import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect, inject, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import type { PeriodWrite } from "./period-writes.ts";
import { watchPeriodWrites } from "./period-writes.ts";

const PROCESSES = 4;
const ROUNDS = 2;
/** So many are killed at once. */
const VICTIMS = 2;
const PROBES = 3;
const PROBE_TIMEOUT_MS = 200;
/** How much longer Redis keeps the place of a prober that is gone. */
const GRACE_MS = 1_000;
/** What a busy machine adds: each process asks again within a few milliseconds. */
const NOISE_MS = 300;

const script = fileURLToPath(new URL("trial-caller.mjs", import.meta.url));
const options = {
  name: "crashed-probers",
  // What is known of the others is used for as long, too.
  storeTimeout: 400,
  minimumCalls: 2,
  minimumSuccessRate: 0.6,
  openFor: 50,
  trialCalls: PROBES,
  trialCallTimeout: PROBE_TIMEOUT_MS,
  flushInterval: 10,
};

const probers = new Set<ChildProcess>();
let started = 0;
afterEach(() => {
  for (const prober of probers) prober.kill("SIGKILL");
});

async function startProber(): Promise<ChildProcess> {
  started += 1;
  const prober = fork(script, [inject("redisSocket"), JSON.stringify(options), `${started}`], {
    execArgv: [],
  });
  probers.add(prober);
  await once(prober, "message");
  return prober;
}

async function killInTrial(victim: ChildProcess): Promise<void> {
  const hanging = once(victim, "message");
  victim.send("hang");
  await hanging;
  probers.delete(victim);
  victim.kill("SIGKILL");
  await once(victim, "exit");
}

/** The leases of a half-open period that were there until a write, and not after it. */
function leasesThatWent(before: PeriodWrite, after: PeriodWrite) {
  const isHeld = (id: number): boolean => after.period.leases.some((lease) => lease.id === id);
  return before.period.leases.filter(({ id }) => !isHeld(id));
}

test("a process that is killed in a trial call holds its slot until the lease ends, and records no outcome", async () => {
  const watched = await watchPeriodWrites(
    inject("redisSocket"),
    `hg:{default}:breaker/${options.name}`,
  );
  await Promise.all(Array.from({ length: PROCESSES }, startProber));
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all([...probers].slice(0, VICTIMS).map(killInTrial));
    await Promise.all(Array.from({ length: VICTIMS }, startProber));
  }
  // The last places that are held for nobody are given up, and the others decide.
  const { length } = watched.writes;
  await waitUntil("the others decide", 10_000, () => {
    const decided = watched.writes.slice(length).filter(({ period }) => period.state === "open");
    return decided.length > 1 || undefined;
  });
  watched.stop();

  const { writes } = watched;
  let decisions = 0;
  let lost = 0;
  for (const [i, after] of writes.entries()) {
    const before = writes[i - 1];
    const { at, period } = after;
    const held = period.leases.filter(({ ends }) => ends > at);
    expect(held.length + period.done).toBeLessThanOrEqual(PROBES);
    if (before?.period.state !== "half-open") continue;
    if (period.state !== "half-open") {
      decisions += 1;
      // One more outcome than those that were noted, and they were all but one.
      expect(before.period.done).toBe(PROBES - 1);
      expect(period.calls).toBe(PROBES);
      const isBad = (PROBES - period.failures) / PROBES < options.minimumSuccessRate;
      expect(period.state).toBe(isBad ? "open" : "closed");
      continue;
    }
    const expired = leasesThatWent(before, after).filter(({ ends }) => ends <= at);
    lost += expired.length;
    if (expired.length === 0) continue;
    expect(period.done).toBe(before.period.done);
    // Where all places were held, somebody had the first that was free.
    const wasFull = before.period.done + before.period.leases.length === PROBES;
    const freeSince = Math.min(...before.period.leases.map(({ ends }) => ends));
    if (wasFull) expect(at - freeSince).toBeLessThan(NOISE_MS * 1_000);
  }
  const leased = writes.flatMap(({ at, period }) => period.leases.map(({ ends }) => ends - at));
  expect(Math.max(...leased)).toBeLessThanOrEqual((PROBE_TIMEOUT_MS + GRACE_MS) * 1_000);
  // On a busy machine one that lives may be late as well.
  expect(lost).toBeGreaterThanOrEqual(ROUNDS * VICTIMS);
  expect(decisions).toBeGreaterThanOrEqual(ROUNDS);
});
