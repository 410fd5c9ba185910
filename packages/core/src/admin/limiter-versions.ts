import { groupBy } from "../common/group-by.ts";
import type { Limit, Policy } from "../common/policy.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import { incompatibilityWithAll } from "../control/apply-override.ts";
import type { Override } from "../control/record.ts";
import type { HttpUse, RegistryPolicy } from "../registry/record.ts";
import type { LimiterDefinition } from "./admin.ts";
import type { Registry, RegistryLimiter } from "./read-registry.ts";

/** A policy that processes have for a limiter, to look up and act on. */
export interface LimiterVersion {
  readonly limiter: LimiterDefinition & {
    readonly limits: readonly Limit[];
    readonly perCallPolicies: readonly Policy[];
  };
  /** The policies of other shapes that its calls pass, as in the registry. */
  readonly perCallPolicies: readonly RegistryPolicy[];
  readonly uses: readonly HttpUse[];
  /** The name of the limiter that it extends. */
  readonly extends?: string | undefined;
  /** Equal for limiters whose counters are the same. */
  readonly counterIdentity: string;
  /** Whether processes have several policies under its name. */
  readonly hasOtherVersions: boolean;
}

/**
 * The policies that processes have under a name, or under all names, without those that are too long to be listed. Records that
 * differ only in how the limiter is used are one.
 */
export function limiterVersionsOf(
  records: readonly RegistryLimiter[],
  name?: string,
): readonly LimiterVersion[] {
  const matching = records.filter(
    (one) => (name === undefined || one.name === name) && one.isTruncated !== true,
  );
  return groupVersions(matching).map((same) => {
    const [first] = same;
    const { limits, blockOn, shadow, hasOtherVersions } = first;
    const perCallPolicies = perCallPoliciesOf(same);
    const policies = perCallPolicies.map((other) => other.limits);
    return {
      limiter: { name: first.name, limits, perCallPolicies: policies, blockOn, shadow },
      perCallPolicies,
      uses: same.flatMap(({ uses }) => uses),
      extends: first.extends,
      counterIdentity: counterIdentityOf(first),
      hasOtherVersions,
    };
  });
}

/**
 * Each version of each policy once, with all processes and uses that have it, also those that are too long to be listed. Ordered by
 * name; versions of one name in the order in which their first processes started.
 */
export function policyVersionsOf({
  limiters,
  processes,
}: Pick<Registry, "limiters" | "processes">): readonly RegistryLimiter[] {
  const starts = new Map(processes.map(({ id, startedAt }) => [id, startedAt]));
  const firstStart = (one: RegistryLimiter): number =>
    Math.min(...one.processes.map((id) => starts.get(id) ?? Number.POSITIVE_INFINITY));
  const versions = groupVersions(limiters).map((same) => ({
    ...same[0],
    perCallPolicies: perCallPoliciesOf(same),
    uses: same.flatMap(({ uses }) => uses),
    processes: [...new Set(same.flatMap((one) => one.processes))],
  }));
  return [...groupBy(versions, ({ name }) => name).values()].flatMap((ofName) =>
    ofName.toSorted(
      (a, b) => Number(firstStart(a) > firstStart(b)) - Number(firstStart(a) < firstStart(b)),
    ),
  );
}

/**
 * Why processes have several versions of one policy, as sentences: what differs, whether the versions share counters, and
 * whether it looks like a deploy. `versions` are those of one name, as `policyVersionsOf` orders them.
 */
export function explainVersions(
  versions: readonly RegistryLimiter[],
  processes: Registry["processes"],
): readonly string[] {
  if (versions.length < 2) return [];
  const hasDifferent = (read: (one: RegistryLimiter) => unknown): boolean =>
    new Set(versions.map((one) => JSON.stringify(read(one) ?? null))).size > 1;
  const differences = [
    hasDifferent(({ limits }) => limits) ? "their limits" : "",
    hasDifferent(({ blockOn }) => blockOn) ? "which denials block" : "",
    hasDifferent(({ shadow }) => shadow) ? "shadow mode" : "",
    hasDifferent((one) => one.extends) ? "the limiter that they extend" : "",
  ].filter((one) => one !== "");
  const starts = new Map(processes.map(({ id, startedAt }) => [id, startedAt]));
  const startsOf = (one: RegistryLimiter): readonly number[] =>
    one.processes.map((id) => starts.get(id) ?? 0);
  const isRollout = versions.every(
    (one, i) =>
      i === 0 ||
      Math.min(...startsOf(one)) > Math.max(...versions.slice(0, i).flatMap((a) => startsOf(a))),
  );
  const all = versions.flatMap((one) => one.processes);
  return [
    `The versions differ in ${differences.join(" and ") || "details that the registry does not list"}.`,
    hasDifferent(counterIdentityOf)
      ? "They count separately, so a client may use up the limits of each."
      : "They share their counters: each process applies its own version to the same counts.",
    new Set(all).size < all.length
      ? "A process has several of them: it creates the limiter more than once, with different options."
      : isRollout
        ? "Each version started after the one before, as in a deploy: this ends when the last process with an old version stops."
        : "Processes of the versions started in turn, so this is no deploy: some processes have other code or another configuration.",
  ];
}

/** Groups records that differ only in how the limiter is used, or in the version of Headgate. */
function groupVersions(
  records: readonly RegistryLimiter[],
): readonly (readonly [RegistryLimiter, ...RegistryLimiter[]])[] {
  const groups = groupBy(records, (one) =>
    JSON.stringify([one.name, one.policy, one.shadow, one.extends ?? ""]),
  );
  return [...groups.values()] as unknown as readonly (readonly [RegistryLimiter])[];
}

function counterIdentityOf({ shapes }: RegistryLimiter): string {
  return JSON.stringify(shapes.map(({ per, fingerprint }) => [per, fingerprint]).sort());
}

/** The policies of other shapes in use, each shape once. */
function perCallPoliciesOf(same: readonly RegistryLimiter[]): readonly RegistryPolicy[] {
  const all = same.flatMap(({ perCallPolicies = [] }) => perCallPolicies);
  return [...new Map(all.map((one) => [JSON.stringify(one.shapes), one])).values()];
}

/** The dimensions by which limits count, each once. */
export function dimensionsOf(limits: readonly Pick<Limit, "per">[]): readonly string[] {
  return [...new Set(limits.map(({ per = "default" }) => per))];
}

/** Whether limits count all clients together, and by nothing else. */
export function isGlobal(limits: readonly Pick<Limit, "per">[]): boolean {
  return limits.every(({ per }) => per === GLOBAL_DIMENSION);
}

/** Whether a limiter is in shadow mode in every process: by the override for all of its subjects, or else by its policies. */
export function isInShadow(
  name: string,
  policies: readonly Pick<RegistryLimiter, "shadow">[],
  overrides: readonly Override[],
): boolean {
  const own = overrides.find(
    ({ limiter, subject, shadow }) =>
      limiter === name && subject === undefined && shadow !== undefined,
  );
  return own?.shadow ?? (policies.length > 0 && policies.every(({ shadow }) => shadow));
}

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
  const unknown = new Set(
    listed.length > 0 ? [] : processes.filter(({ more }) => more > 0).map(({ id }) => id),
  );
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
