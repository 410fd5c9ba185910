import type { Policy } from "../common/policy.ts";
import { incompatibilityWithAll } from "../control/check-override.ts";
import type { Override } from "../control/record.ts";
import type { LimiterVersion } from "./limiter-versions.ts";
import type { Registry } from "./registry.ts";

/** The listed processes that apply an override, and those that ignore it. */
export interface OverrideCoverage {
  /** `"unknown"` if no listed process applies it and the registry lacks some process or policy. */
  readonly state: "in-force" | "partly" | "ignored" | "unknown";
  /** How many processes apply it. */
  readonly appliedBy: number;
  /** Why it has no effect, and in how many processes: one entry for each reason. */
  readonly ignored: readonly IgnoredOverride[];
  /** How many processes do not list the limiter's limits because they are too long, or list only some of their limiters. */
  readonly unknownTo: number;
}

/** A reason why an override has no effect. */
export interface IgnoredOverride {
  readonly why: string;
  /** 0 if no listed process has the limiter. */
  readonly processes: number;
}

/** Determines which of the listed processes apply an override. */
export function overrideCoverageOf(
  override: Partial<Override> & Pick<Override, "limiter">,
  { limiters, processes, unread }: Registry,
): OverrideCoverage {
  const applying = new Set<string>();
  const ignoring = new Map<string, Set<string>>();
  const listed = limiters.filter(({ name }) => name === override.limiter);
  const unknown = new Set(listed.length > 0 ? [] : idsOf(processes.filter(({ more }) => more > 0)));
  for (const { limits, others = [], isCut, processes: ids } of listed) {
    const policies = [limits, ...others.map((other) => other.limits)];
    const why = isCut === true ? undefined : ignoredReasonOf(policies, override);
    const known = why === undefined ? (isCut === true ? unknown : applying) : ignoring.get(why);
    if (why !== undefined && known === undefined) ignoring.set(why, new Set(ids));
    for (const id of ids) known?.add(id);
  }
  const absent =
    processes.length === 0 ? "no process is listed" : "no listed process has this limiter";
  const ignored =
    listed.length === 0
      ? [{ why: absent, processes: 0 }]
      : [...ignoring].map(([why, { size }]) => ({ why, processes: size }));
  const counts = { appliedBy: applying.size, ignored, unknownTo: unknown.size };
  const isWhole = unknown.size === 0 && unread.length === 0 && processes.length > 0;
  return { state: stateOf(counts, isWhole), ...counts };
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
  const policies = known.flatMap(({ limiter }) => [limiter.limits, ...limiter.others]);
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
  { appliedBy, ignored }: Omit<OverrideCoverage, "state">,
  isWhole: boolean,
): OverrideCoverage["state"] {
  if (appliedBy > 0) return ignored.length > 0 ? "partly" : "in-force";
  return isWhole ? "ignored" : "unknown";
}
