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
/** How many processes are killed at once. */
const VICTIMS = 2;
const TRIAL_CALLS = 3;
const TRIAL_CALL_TIMEOUT_MS = 200;
/** How much longer than trialCallTimeout a lease lasts. */
const GRACE_MS = 1_000;
/** What a busy machine adds: each process requests a call every few milliseconds. */
const NOISE_MS = 300;

const script = fileURLToPath(new URL("trial-caller.mjs", import.meta.url));
const options = {
  name: "crashed-trial-calls",
  // A view is used for up to flushInterval and storeTimeout.
  storeTimeout: 400,
  minimumCalls: 2,
  minimumSuccessRate: 0.6,
  openFor: 50,
  trialCalls: TRIAL_CALLS,
  trialCallTimeout: TRIAL_CALL_TIMEOUT_MS,
  flushInterval: 10,
};

const callers = new Set<ChildProcess>();
let started = 0;
afterEach(() => {
  for (const caller of callers) caller.kill("SIGKILL");
});

async function startTrialCaller(): Promise<ChildProcess> {
  started += 1;
  const caller = fork(script, [inject("redisSocket"), JSON.stringify(options), `${started}`], {
    execArgv: [],
  });
  callers.add(caller);
  await once(caller, "message");
  return caller;
}

async function killInTrial(victim: ChildProcess): Promise<void> {
  const hanging = once(victim, "message");
  victim.send("hang");
  await hanging;
  callers.delete(victim);
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
  await Promise.all(Array.from({ length: PROCESSES }, startTrialCaller));
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all([...callers].slice(0, VICTIMS).map(killInTrial));
    await Promise.all(Array.from({ length: VICTIMS }, startTrialCaller));
  }
  // The leases of the killed processes end, and the other processes decide.
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
    expect(held.length + period.done).toBeLessThanOrEqual(TRIAL_CALLS);
    if (before?.period.state !== "half-open") continue;
    if (period.state !== "half-open") {
      decisions += 1;
      // The deciding outcome is the last one of the trial calls.
      expect(before.period.done).toBe(TRIAL_CALLS - 1);
      expect(period.calls).toBe(TRIAL_CALLS);
      const isBad = (TRIAL_CALLS - period.failures) / TRIAL_CALLS < options.minimumSuccessRate;
      expect(period.state).toBe(isBad ? "open" : "closed");
      continue;
    }
    const expired = leasesThatWent(before, after).filter(({ ends }) => ends <= at);
    lost += expired.length;
    if (expired.length === 0) continue;
    expect(period.done).toBe(before.period.done);
    // If all slots were held, the first free one was taken soon.
    const wasFull = before.period.done + before.period.leases.length === TRIAL_CALLS;
    const freeSince = Math.min(...before.period.leases.map(({ ends }) => ends));
    if (wasFull) expect(at - freeSince).toBeLessThan(NOISE_MS * 1_000);
  }
  const leased = writes.flatMap(({ at, period }) => period.leases.map(({ ends }) => ends - at));
  expect(Math.max(...leased)).toBeLessThanOrEqual((TRIAL_CALL_TIMEOUT_MS + GRACE_MS) * 1_000);
  // On a busy machine one that lives may be late as well.
  expect(lost).toBeGreaterThanOrEqual(ROUNDS * VICTIMS);
  expect(decisions).toBeGreaterThanOrEqual(ROUNDS);
});
