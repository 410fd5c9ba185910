import type { Cost } from "../cost.ts";
import type { Decision } from "../decision.ts";
import { HeadgateError } from "../errors.ts";
import { rejectUnknownOptions } from "../options.ts";
import type { Limit, Policy } from "../policy.ts";
import type { DecideMode } from "../store/decide-call.ts";
import { isCharging, modeOf } from "../store/decide-call.ts";
import { CalledLimits } from "./called-limits.ts";
import { askedUnits } from "./costs.ts";
import type { CountedPolicy, Group } from "./counted-policy.ts";
import type { SubjectCounter, Subjects } from "./counters.ts";
import { areInShadow, countersOf } from "./counters.ts";
import type { ConsumeOptions, Learned, Limiter, LimiterParts } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";
import { areDecisionsHeard, publishTaken, subjectsIn } from "./published-decision.ts";
import { readCost } from "./read-cost.ts";

/** How a limiter is asked once, without waiting. */
export interface Asking extends Pick<Limiter, "consume" | "peek">, Pick<LimiterParts, "consumeIn"> {
  /** `consume` in a mode that is not the limiter's own. */
  consumeAs(
    mode: DecideMode,
    subject: Subjects,
    options: ConsumeOptions | undefined,
  ): Promise<Decision>;
  /** The counters that a call asks, under its own limits if it has some. Throws `HEADGATE_INVALID_LIMIT`, and the errors of `countersOf`. */
  countersAsked(
    subject: Subjects,
    limits: Policy | undefined,
    groups: readonly Group[] | undefined,
  ): SubjectCounter[];
}

/** `underLimits`: all that is counted, with other numbers for the limiter's own limits; throws `HEADGATE_INVALID_LIMIT`. */
export function createAsking(
  core: LimiterCore,
  underLimits: (limits: readonly Limit[]) => CountedPolicy,
): Asking {
  const { counted, decider, control, overrides, usage, hasLease, flights } = core;
  let called: CalledLimits | undefined;

  function countersAsked(
    subject: Subjects,
    limits: Policy | undefined,
    groups: readonly Group[] | undefined,
  ): SubjectCounter[] {
    if (limits === undefined) return countersOf(counted, subject, groups);
    if (hasLease) throw leasesUnits();
    called ??= new CalledLimits(underLimits);
    const inForce = called.of(limits);
    const asked = groups?.map((group) => inForce.groups[counted.groups.indexOf(group)] as Group);
    return countersOf(inForce, subject, asked);
  }

  /** Rejects, and never throws. */
  function decide(
    subject: Subjects,
    options: ConsumeOptions | undefined,
    mode: DecideMode,
    groups?: readonly Group[],
    learned?: Learned,
  ): Promise<Decision> {
    const waitedMs = learned?.waitedMs;
    const isDue =
      control !== undefined && learned?.isFresh !== true && performance.now() >= control.known.due;
    const refreshed = isDue ? control.refresh() : undefined;
    if (refreshed === undefined) return decideNow(subject, options, mode, groups, waitedMs);
    const { watch } = decider;
    const began = (watch?.now() ?? 0) - (waitedMs ?? 0);
    const decided = refreshed.then(() =>
      decideNow(subject, options, mode, groups, (watch?.now() ?? 0) - began),
    );
    return flights.track(decided);
  }

  function decideNow(
    subject: Subjects,
    options: ConsumeOptions | undefined,
    mode: DecideMode,
    groups: readonly Group[] | undefined,
    waitedMs?: number,
  ): Promise<Decision> {
    try {
      let cost: Cost = 1;
      if (options !== undefined) {
        rejectUnknownOptions("consume and peek", options, ["cost", "limits"]);
        cost = readCost(core, options.cost);
      }
      const limits = options?.limits;
      const isKnowable =
        limits === undefined && isCharging(mode) && typeof cost === "number" && cost > 0;
      const known = isKnowable ? decider.admitKnown?.(subject, cost as number) : undefined;
      if (known !== undefined) return Promise.resolve(known);
      return ask(countersAsked(subject, limits, groups), cost, mode, waitedMs);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  function ask(
    counters: readonly SubjectCounter[],
    cost: Cost,
    mode: DecideMode,
    waitedMs: number | undefined,
  ): Promise<Decision> {
    const inForce = overrides?.inForce === undefined ? counters : overrides.apply(counters);
    // In shadow, nobody is blocked.
    const asked = mode === "enforce" && areInShadow(counted, inForce) ? "charge" : mode;
    const units = askedUnits(inForce, cost);
    return decider.decide(units.counters, units.cost, modeOf(asked, units.cost), waitedMs);
  }

  function consumeAs(
    mode: DecideMode,
    subject: Subjects,
    options: ConsumeOptions | undefined,
  ): Promise<Decision> {
    if (areDecisionsHeard()) return consumeHeard(subject, options, mode);
    const decided = decide(subject, options, mode);
    return usage === undefined ? decided : decided.then((decision) => noteUsage(subject, decision));
  }

  function noteUsage(subjects: Subjects, decision: Decision): Decision {
    usage?.note(subjectsIn({ groups: counted.groups, subjects }), decision);
    return decision;
  }

  async function consumeHeard(
    subject: Subjects,
    options: ConsumeOptions | undefined,
    mode: DecideMode,
  ): Promise<Decision> {
    const started = performance.now();
    const decision = await decide(subject, options, mode);
    publishTaken(core, subject, decision, performance.now() - started);
    return noteUsage(subject, decision);
  }

  return {
    consume: (subject, options) => consumeAs("enforce", subject, options),
    peek: (subject, options) => decide(subject, options, "peek"),
    consumeIn: (groups, subject, options, learned) =>
      decide(subject, options, "enforce", groups, learned),
    consumeAs,
    countersAsked,
  };
}

/** Units that were taken ahead under some numbers do not tell what other numbers allow. */
function leasesUnits(): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    "a limiter with lease takes no limits for a call, because it takes units ahead under its own; leave one of them out",
  );
}
