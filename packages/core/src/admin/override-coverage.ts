import type { Policy } from "../common/policy.ts";
import { incompatibilityWithAll } from "../control/check-override.ts";
import type { Override } from "../control/record.ts";
import type { LimiterVersion } from "./limiter-versions.ts";
import type { Registry } from "./registry.ts";

/** The listed processes that apply an override, and those that ignore it. */
export interface OverrideCoverage {
  /** `"unknown"` if no listed process applies it and the registry lacks some process or policy. */
  readonly state: "in-force" | "partial" | "ignored" | "unknown";
  /** How many processes apply it. */
  readonly applyingProcesses: number;
  /** Why it has no effect, and in how many processes: one entry for each reason. */
  readonly ignored: readonly IgnoredOverride[];
  /** How many processes do not list the limiter's limits because they are too long, or list only some of their limiters. */
  readonly unknownProcesses: number;
}

/** A reason why an override has no effect. */
export interface IgnoredOverride {
  readonly reason: string;
  /** 0 if no listed process has the limiter. */
  readonly processes: number;
}

/** Determines which of the listed processes apply an override. */
export function overrideCoverageOf(
  override: Partial<Override> & Pick<Override, "limiter">,
  { limiters, processes, unreadable }: Registry,
): OverrideCoverage {
  const applying = new Set<string>();
  const ignoring = new Map<string, Set<string>>();
  const listed = limiters.filter(({ name }) => name === override.limiter);
  const unknown = new Set(listed.length > 0 ? [] : idsOf(processes.filter(({ more }) => more > 0)));
  for (const { limits, perCallPolicies = [], isTruncated, processes: ids } of listed) {
    const policies = [limits, ...perCallPolicies.map((other) => other.limits)];
    const reason = isTruncated === true ? undefined : ignoredReasonOf(policies, override);
    const known =
      reason === undefined ? (isTruncated === true ? unknown : applying) : ignoring.get(reason);
    if (reason !== undefined && known === undefined) ignoring.set(reason, new Set(ids));
    for (const id of ids) known?.add(id);
  }
  const absent =
    processes.length === 0 ? "no process is listed" : "no listed process has this limiter";
  const ignored =
    listed.length === 0
      ? [{ reason: absent, processes: 0 }]
      : [...ignoring].map(([reason, { size }]) => ({ reason, processes: size }));
  const counts = { applyingProcesses: applying.size, ignored, unknownProcesses: unknown.size };
  const isComplete = unknown.size === 0 && unreadable.length === 0 && processes.length > 0;
  return { state: stateOf(counts, isComplete), ...counts };
}

function idsOf(processes: Registry["processes"]): readonly string[] {
  return processes.map(({ id }) => id);
}

/**
 * Throws `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT` for an override that fits no policy of its limiter, as the first of
 * them does not fit.
 */
export function requireCompatible(
  known: readonly LimiterVersion[],
  override: Partial<Override>,
): void {
  const policies = known.flatMap(({ limiter }) => [limiter.limits, ...limiter.perCallPolicies]);
  const incompatibility = incompatibilityWithAll(policies, override);
  if (incompatibility !== undefined) throw incompatibility;
}

/** Why a limiter ignores an override; undefined if it applies it, to requests with the policies that it fits. */
export function ignoredReasonOf(
  policies: readonly Policy[],
  override: Partial<Override>,
): string | undefined {
  return incompatibilityWithAll(policies, override)?.message.replace(/^override: /, "");
}

function stateOf(
  { applyingProcesses, ignored }: Omit<OverrideCoverage, "state">,
  isComplete: boolean,
): OverrideCoverage["state"] {
  if (applyingProcesses > 0) return ignored.length > 0 ? "partial" : "in-force";
  return isComplete ? "ignored" : "unknown";
}
