import type { Policy } from "@headgate/core";
import type { Override } from "@headgate/core/operate";
import { misfitOf } from "@headgate/core/operate";
import { withTimesInMs } from "../output/override.ts";
import type { Subject } from "./make-subjects.ts";
import { describeOverride, overridesFor } from "./words.ts";

/** An override for a subject, and whether the limiter's processes apply it. */
export interface SubjectOverride {
  readonly override: Override;
  /** Why they ignore it; undefined where they apply it. */
  readonly ignored: string | undefined;
}

/** A limiter, and the policies of other shapes that its calls bring. */
interface OverriddenLimiter {
  readonly name: string;
  readonly limits: Policy;
  readonly others?: readonly Policy[] | undefined;
}

/** The overrides of a limiter for a subject, the one that counts most last. `now` is in milliseconds. */
export function judgedOverrides(
  overrides: readonly Override[],
  { name, limits, others = [] }: OverriddenLimiter,
  subject: Subject,
  now: number,
): readonly SubjectOverride[] {
  return overridesFor(overrides, name, subject, now).map((override) => {
    const fitsOther = others.some((other) => misfitOf(other, override) === undefined);
    const why = fitsOther ? undefined : misfitOf(limits, override)?.message;
    return { override, ignored: why?.replace(/^override: /, "") };
  });
}

/** As JSON, with times in milliseconds. */
export function toOverrideDocument({ override, ignored }: SubjectOverride): object {
  return { ...(withTimesInMs(override) as object), ignored };
}

export function formatSubjectOverride({ override, ignored }: SubjectOverride): string {
  const described = describeOverride(override);
  return ignored === undefined
    ? `override: ${described}`
    : `override, ignored because ${ignored}: ${described}`;
}
