import type { Awaitable } from "../base/awaitable.ts";
import type { Cost } from "../base/cost.ts";
import type { Decision } from "../base/decision.ts";
import { HeadgateError } from "../base/errors.ts";
import { rejectUnknownOptions } from "../base/options.ts";
import type { Limit, Policy } from "../base/policy.ts";
import { askedUnits } from "../counting/costs.ts";
import type { CountedPolicy, Group } from "../counting/counted-policy.ts";
import type { SubjectCounter, Subjects } from "../counting/counters.ts";
import { countersOf } from "../counting/counters.ts";
import { makeAsk } from "../deciding/ask.ts";
import type { DecideMode } from "../store/decide-call.ts";
import { CalledLimits } from "./called-limits.ts";
import type { ConsumeOptions, Learned, Limiter, LimiterParts } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";
import { decisions, publishTaken, subjectsIn } from "./published-decision.ts";
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
  const { counted, chain, watch, control, overrides, usage, hasLease, flights } = core;
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

  /** Decides, once what operators did is known. Throws, or rejects with, what is wrong with the call. */
  function consumeIn(
    groups: readonly Group[] | undefined,
    subject: Subjects,
    options: ConsumeOptions | undefined,
    learned?: Learned,
    mode: DecideMode = "enforce",
  ): Awaitable<Decision> {
    const waitedMs = learned?.waitedMs ?? 0;
    if (
      control !== undefined &&
      learned?.isFresh !== true &&
      performance.now() >= control.known.due
    ) {
      const refreshed = control.refresh();
      if (refreshed !== undefined) {
        const began = (watch?.now() ?? 0) - waitedMs;
        const decided = refreshed.then(() =>
          consumeIn(
            groups,
            subject,
            options,
            { isFresh: true, waitedMs: (watch?.now() ?? 0) - began },
            mode,
          ),
        );
        return flights.track(decided);
      }
    }
    let cost: Cost = 1;
    if (options !== undefined) {
      rejectUnknownOptions("consume and peek", options, ["cost", "limits"]);
      cost = readCost(core, options.cost);
    }
    const limits = options?.limits;
    if (chain.admit !== undefined && limits === undefined && mode !== "peek") {
      const admitted =
        typeof cost === "number" && cost > 0 ? chain.admit(subject, cost) : undefined;
      if (admitted !== undefined) return admitted;
    }
    const counters =
      limits === undefined
        ? countersOf(counted, subject, groups)
        : countersAsked(subject, limits, groups);
    const inForce = overrides?.inForce === undefined ? counters : overrides.apply(counters);
    // In shadow mode no block is set.
    const isShadow = inForce[0]?.terms?.shadow ?? counted.shadow;
    const asked = mode === "enforce" && isShadow ? "charge" : mode;
    if (typeof cost === "number") return chain.decide(makeAsk(inForce, cost, asked, waitedMs));
    const named = askedUnits(inForce, cost);
    return chain.decide(makeAsk(named.counters, named.cost, asked, waitedMs));
  }

  async function consumeAs(
    mode: DecideMode,
    subject: Subjects,
    options: ConsumeOptions | undefined,
  ): Promise<Decision> {
    const started = decisions.hasSubscribers ? performance.now() : undefined;
    const decision = await consumeIn(undefined, subject, options, undefined, mode);
    if (started !== undefined) publishTaken(core, subject, decision, performance.now() - started);
    usage?.note(subjectsIn({ groups: counted.groups, subjects: subject }), decision);
    return decision;
  }

  return {
    consume: (subject, options) => consumeAs("enforce", subject, options),
    peek: async (subject, options) => consumeIn(undefined, subject, options, undefined, "peek"),
    consumeIn,
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
