import { formatNumber } from "../common/errors.ts";
import { readBoolean, rejectExtraArgument, rejectUnknownOptions } from "../common/options.ts";
import { parseDuration } from "../common/time.ts";
import { blockCounters, forgetCounters } from "../pipeline/mutations.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import { countersOfGivenSubjects, unitCountersOf } from "../policy/counters.ts";
import { countersOfOtherPolicies } from "../policy/per-call-policy.ts";
import type { Limiter, SubjectOptions } from "./limiter.ts";
import type { LimiterCore } from "./limiter-internals.ts";

/** The methods of a limiter that block, unblock and reset subjects. */
export function createBlockMethods({
  policy,
  perCallPolicies,
  pipeline,
  fallback,
}: LimiterCore): Pick<Limiter, "block" | "unblock" | "reset"> {
  /** The subject's counters under the limiter's own policy, and under each other shape in use. */
  function countersOfAll(
    subject: Subjects,
    ignoreUnknownDimensions: boolean,
  ): readonly (readonly SubjectCounter[])[] {
    const own = countersOfGivenSubjects(policy, subject, ignoreUnknownDimensions);
    if (own.length === 0) return [];
    if (!perCallPolicies.isUsed) return [own];
    const others = countersOfOtherPolicies({ policy, counters: own }, [
      ...perCallPolicies.policies(),
    ]);
    return [own, ...others.map(({ counters }) => counters)];
  }

  async function isAny(
    subject: Subjects,
    ignoreUnknownDimensions: boolean,
    change: (counters: readonly SubjectCounter[]) => Promise<boolean>,
  ): Promise<boolean> {
    return (
      await Promise.all(countersOfAll(subject, ignoreUnknownDimensions).map(change))
    ).includes(true);
  }

  return {
    async block(subject, duration, options, more?: unknown) {
      rejectExtraArgument("block(subject, duration, options)", more);
      const ignoreUnknownDimensions = readIgnoreUnknownDimensions("block", options);
      const span = parseDuration(duration, "duration", "HEADGATE_INVALID_OPTION", formatNumber);
      await isAny(subject, ignoreUnknownDimensions, (counters) =>
        blockCounters(pipeline, counters, span),
      );
    },

    async unblock(subject, options, more?: unknown) {
      rejectExtraArgument("unblock(subject, options)", more);
      const ignoreUnknownDimensions = readIgnoreUnknownDimensions("unblock", options);
      return isAny(subject, ignoreUnknownDimensions, (counters) =>
        blockCounters(pipeline, counters, 0),
      );
    },

    async reset(subject, options, more?: unknown) {
      rejectExtraArgument("reset(subject, options)", more);
      return isAny(subject, readIgnoreUnknownDimensions("reset", options), async (all) => {
        const counters = unitCountersOf(all);
        if (counters.length === 0) return false;
        const here =
          fallback && (await forgetCounters(fallback, counters.map(fallback.localShareOf)));
        return (await forgetCounters(pipeline, counters)) || here === true;
      });
    },
  };
}

/** Throws `HEADGATE_INVALID_OPTION`. */
function readIgnoreUnknownDimensions(owner: string, options: SubjectOptions = {}): boolean {
  rejectUnknownOptions(owner, options, ["ignoreUnknownDimensions"]);
  return readBoolean("ignoreUnknownDimensions", options.ignoreUnknownDimensions);
}
