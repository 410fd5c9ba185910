import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { expect } from "vitest";
import type { Failover } from "../../support/lost-primaries.ts";
import { loseTo } from "../../support/lost-primaries.ts";
import { waitUntilReplicated } from "../../support/replicated.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { listenToBreaker } from "./breaker-events.ts";
import { longest, startCallers } from "./callers.ts";

/** Longer than the default, for a machine that does other things as well. */
const STORE_TIMEOUT_MS = 250;
/** What a busy machine adds to a timer. */
const NOISE_MS = 50;

interface FailoverOfTargets extends Failover {
  /** Targets of the primary that is lost: some are open, some forced open, the others closed. */
  readonly targets: readonly string[];
  /** Targets that other primaries have. */
  readonly others?: readonly string[];
}

/** Loses a primary under load: calls are answered in time, states go on, and are what they were when somebody else has them. */
export async function surviveFailover(failover: FailoverOfTargets): Promise<string> {
  const { client, targets, others = [], recoveryMs } = failover;
  const name = `failover-${failover.fault}`;
  const events = listenToBreaker(name);
  const breaker = createBreaker<string>({
    name,
    store: redisStore(client),
    storeTimeout: STORE_TIMEOUT_MS,
    minimumCalls: 5,
    openFor: "10m",
  });
  const all = [...targets, ...others];
  for (const [i, target] of all.entries()) {
    const one = breaker.for(target);
    if (i % 3 === 1) await one.forceOpen();
    if (i % 3 === 2) for (let calls = 0; calls < 5; calls += 1) await one.record("failure");
    await one.snapshot();
  }
  const states = async () =>
    Promise.all(all.map(async (target) => (await breaker.for(target).snapshot()).state));
  const before = await states();
  expect(new Set(before)).toEqual(new Set(["closed", "forced-open", "open"]));
  const changes = events.states.length;
  const callers = startCallers(
    all.map((target) => [breaker.for(target), { isWell: true }] as const),
    10,
  );
  // What a replica has not heard of is lost with its primary.
  await waitUntilReplicated(failover.primary);

  const { lostAt, takenOverAt } = await loseTo(failover);
  let backAt: number;
  try {
    backAt = await waitUntil("every target is in the shared state", recoveryMs, async () => {
      const looks = await Promise.all(all.map((target) => breaker.for(target).snapshot()));
      return looks.every(({ degraded }) => !degraded) ? performance.now() : undefined;
    });
  } finally {
    await callers.stop();
  }
  const after = await states();
  events.stop();
  await breaker.close();

  expect(after).toEqual(before);
  // Nobody was let through who is not now, nor the other way round: nothing was told of any target.
  expect(events.states.slice(changes)).toEqual([]);
  const [letThrough, refused] = [
    callers.called.filter(({ ended }) => ended === "fine"),
    callers.called.filter(({ ended }) => ended === "refused"),
  ];
  const isClosed = (target: string) => before[all.indexOf(target)] === "closed";
  expect(letThrough.filter(({ target }) => !isClosed(target))).toEqual([]);
  expect(refused.filter(({ target }) => isClosed(target))).toEqual([]);
  expect(longest(callers.called)).toBeLessThanOrEqual(STORE_TIMEOUT_MS + NOISE_MS);
  const reported = events.degraded.map(({ target }) => target);
  expect(targets.filter((target) => !reported.includes(target))).toEqual([]);
  const sinceLost = callers.called.filter(
    ({ at, target }) => at > lostAt && others.includes(target),
  );
  const ofOthers = sinceLost.filter(({ degraded }) => degraded);
  // node-redis may for a moment refuse all of a cluster while it looks for who has what.
  expect(ofOthers.length).toBeLessThanOrEqual(sinceLost.length / 4);
  return (
    `taken over after ${(takenOverAt - lostAt).toFixed(0)} ms, undegraded ${(backAt - takenOverAt).toFixed(0)} ms later; ` +
    `longest wait ${longest(callers.called).toFixed(0)} ms of ${callers.called.length}; told ${reported.length} times of ${targets.length} targets; ` +
    `of ${others.length} other targets ${new Set(ofOthers.map(({ target }) => target)).size} were degraded, ${ofOthers.length} calls`
  );
}
