import type { ControlRecord, LimiterVersion, Override } from "@headgate/core/admin";
import { ignoredReasonOf, overridesFor } from "@headgate/core/admin";
import { withTimesInMs } from "../output/override.ts";
import { formatOverrideLine } from "./format-inspection.ts";
import type { Subject } from "./make-subjects.ts";

/** An override for a subject, and whether the limiter's processes apply it. */
export interface SubjectOverride {
  readonly override: Override;
  /** Why the processes ignore it; undefined if they apply it. */
  readonly ignoredBecause: string | undefined;
}

/** The overrides of a limiter for a subject, the one with the highest priority last. `now` is in milliseconds. */
export function overridesOf(
  control: ControlRecord,
  { name, limits, perCallPolicies }: LimiterVersion["limiter"],
  subject: Subject,
  now: number,
): readonly SubjectOverride[] {
  return overridesFor(control, name, subject, now).map((override) => ({
    override,
    ignoredBecause: ignoredReasonOf([limits, ...perCallPolicies], override),
  }));
}

/** Converts a result for `--json`, with times in milliseconds. */
export function toJson(one: { readonly overrides: readonly SubjectOverride[] }): object {
  const overrides = one.overrides.map(({ override, ignoredBecause }) => ({
    ...withTimesInMs(override),
    ignoredBecause,
  }));
  return { ...one, overrides };
}

export function formatSubjectOverride({ override, ignoredBecause }: SubjectOverride): string {
  const described = formatOverrideLine(override);
  return ignoredBecause === undefined
    ? `override: ${described}`
    : `override, ignored because ${ignoredBecause}: ${described}`;
}
