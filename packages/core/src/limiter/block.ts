import { formatNumber, invalidValue } from "../common/errors.ts";
import { readBoolean, rejectExtraArgument, rejectUnknownOptions } from "../common/options.ts";
import { parseDuration, toMilliseconds } from "../common/time.ts";
import { blockCounters, forgetCounters } from "../pipeline/mutations.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import { countersOfGivenSubjects, unitCountersOf } from "../policy/counters.ts";
import { countersOfOtherPolicies } from "../policy/per-call-policy.ts";
import type { BlockOptions, Limiter, SubjectOptions } from "./limiter.ts";
import type { LimiterCore } from "./limiter-internals.ts";

/** The methods of a limiter that block, unblock and reset subjects. */
export function createBlockMethods({
  policy,
  perCallPolicies,
  pipeline,
  fallback,
  usage,
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
    async block(subject, duration, options: BlockOptions = {}, more?: unknown) {
      rejectExtraArgument("block(subject, duration, options)", more);
      const { reason, ...rest } = readBlockOptions(options);
      const ignoreUnknownDimensions = readIgnoreUnknownDimensions("block", rest);
      const span = parseDuration(duration, "duration", "HEADGATE_INVALID_OPTION", formatNumber);
      await isAny(subject, ignoreUnknownDimensions, (counters) =>
        blockCounters(pipeline, counters, span),
      );
      if (reason === undefined || usage === undefined) return;
      const named = countersOfGivenSubjects(policy, subject, ignoreUnknownDimensions);
      for (const { group, subject } of named) {
        usage.recordManualBlock(group.dimension, subject, toMilliseconds(span), reason);
      }
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

/** The longest reason, in characters. */
const MAX_REASON = 200;

/** Throws `HEADGATE_INVALID_OPTION`. */
function readBlockOptions(options: BlockOptions): BlockOptions {
  rejectUnknownOptions("block", options, ["ignoreUnknownDimensions", "reason"]);
  const { reason } = options;
  const isText = typeof reason === "string" && reason.length > 0 && reason.length <= MAX_REASON;
  if (reason !== undefined && !isText) {
    throw invalidValue(`reason must be a text of 1 to ${MAX_REASON} characters`, reason);
  }
  return options;
}

/** Throws `HEADGATE_INVALID_OPTION`. */
function readIgnoreUnknownDimensions(owner: string, options: SubjectOptions = {}): boolean {
  rejectUnknownOptions(owner, options, ["ignoreUnknownDimensions"]);
  return readBoolean("ignoreUnknownDimensions", options.ignoreUnknownDimensions);
}
