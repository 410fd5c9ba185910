import type { Operation } from "@headgate/core/internal";
import { countedOutcome } from "../../packages/breaker/src/call/admission.ts";
import type {
  BreakerPolicy,
  CallOutcome,
  OutcomeBatch,
} from "../../packages/breaker/src/machine/breaker-policy.ts";
import type { AdmittedPeriod, BreakerState } from "../../packages/breaker/src/machine/period.ts";
import type {
  SetStateRequest,
  SyncRequest,
  TargetKeys,
} from "../../packages/breaker/src/machine/target.ts";
import { setTargetState, syncTarget } from "../../packages/breaker/src/machine/target.ts";
import { STATES } from "../../packages/breaker/src/machine/wire.ts";
import type { Random } from "../conformance/random/random.ts";

/** A call of a step, where numbers stand for periods and leases that each store calls otherwise. */
export interface RandomCall {
  run(
    run: <Call>(operation: Operation<Call>, call: Call) => Promise<readonly number[]>,
    target: TargetKeys,
    idOf: (number: number) => number,
  ): Promise<readonly number[]>;
  readonly step: typeof syncTarget | typeof setTargetState;
  readonly text: string;
}

/** What replies told, the numbers of periods and leases as they came. */
export interface Report {
  readonly periods: readonly number[];
  readonly leases: readonly number[];
  readonly state: BreakerState;
}

/** A call, near what makes a difference after what was reported. */
export function randomCall(random: Random, reported: Report, target: TargetKeys): RandomCall {
  return random.chance(0.06) ? randomOrder(random) : randomContact(random, reported, target);
}

function randomContact(random: Random, reported: Report, { policy }: TargetKeys): RandomCall {
  const isTrying = reported.state === "half-open";
  const admitted = random.pick<AdmittedPeriod>([
    "any",
    0,
    reported.periods.at(-1) ?? 0,
    random.pick([0, ...reported.periods]),
  ]);
  const lease = random.chance(isTrying ? 0.5 : 0.1)
    ? random.pick([reported.leases.at(-1) ?? 1, random.pick([1, ...reported.leases.slice(-6)])])
    : 0;
  const { outcome, ...call } = {
    outcomes: random.chance(isTrying ? 0.2 : 0.6) ? randomBatch(random, policy) : undefined,
    outcome: random.pick<CallOutcome>([
      "ignore",
      "success",
      "success",
      "failure",
      "slow-success",
      "slow-failure",
    ]),
    requestsCall: random.chance(0.5),
  };
  return {
    step: syncTarget,
    text: `contact ${JSON.stringify({ admitted, lease, outcome, ...call, outcomes: String(call.outcomes) })}`,
    run: (run, target, idOf) => {
      const admittedIn = admitted === "any" ? admitted : idOf(admitted);
      const endedTrial = lease === 0 ? undefined : { leaseId: idOf(lease), outcome };
      return run<SyncRequest>(syncTarget, { target, admittedIn, endedTrial, ...call });
    },
  };
}

function randomOrder(random: Random): RandomCall {
  const call = {
    state: random.chance(0.3) ? ("closed" as const) : random.pick(STATES),
    durationMicros: random.pick([0, random.magnitude(1, 10 ** 14)]),
    openings: random.pick([0, random.whole(0, 25), 65_535]),
    emptiesWindow: random.chance(0.5),
  };
  return {
    step: setTargetState,
    text: `order ${JSON.stringify(call)}`,
    run: (run, target) => run<SetStateRequest>(setTargetState, { target, ...call }),
  };
}

/** Mostly a few outcomes; now and then more than a window of calls holds, or than a window of time can count. */
function randomBatch(random: Random, { window, windowSize }: BreakerPolicy): OutcomeBatch {
  if (window.kind === "time" && random.chance(0.02)) {
    const [most, few] = [2 ** 32 - 1, random.whole(0, 9)];
    const [calls, failures, slow] = random.pick([
      [most, most, most],
      [most, few, 0],
      [most - few, 0, few],
    ]) as [number, number, number];
    return Object.assign(window.createBatch(windowSize), {
      size: calls,
      failures,
      slowCalls: slow,
    });
  }
  const batch = window.createBatch(windowSize);
  const failing = random.fraction();
  const holds = window.kind === "calls" ? windowSize : 100;
  for (let i = random.chance(0.05) ? holds + 3 : random.whole(1, 6); i > 0; i--) {
    const isSlow = random.chance(failing);
    batch.add(countedOutcome(random.chance(failing) ? "failure" : "success", isSlow));
  }
  return batch;
}
