import type { Limit, LimitDescription } from "@headgate/core";
import { createLimiter, gcra, HeadgateError, readPolicy, slidingLog } from "@headgate/core";
import { MAX_POLICIES } from "./trace.ts";

/** The dimensions that a replay supports: the client, under either name, and all clients together. */
const DIMENSIONS = ["default", "ip", "global"] as const;

/** A limit that a replay supports: any but `concurrency`, by client or `per: "global"`. */
export type ReplayLimit = Exclude<
  Limit<(typeof DIMENSIONS)[number]>,
  { readonly algorithm: "concurrency" }
>;

/** The limits of one policy. */
export type ReplayLimits = ReplayLimit | readonly ReplayLimit[];

/** A policy with a name for reports. */
export interface NamedPolicy {
  /** Default: the names of the limits. */
  readonly name?: string | undefined;
  readonly limits: ReplayLimits;
}

/** A policy that has been read. */
export interface ReplayPolicy {
  /** Unique among the policies of a replay. */
  readonly name: string;
  readonly limits: readonly ReplayLimit[];
}

/** One policy; several by their names, in this order; or a list of them. At most 8. */
export type ReplayPolicies =
  | ReplayLimits
  | Readonly<Record<string, ReplayLimits>>
  | readonly NamedPolicy[];

/** Enough for human readers, but too little for a program that downloads everything, whether fast or slowly. */
export const DEFAULT_LIMITS: readonly ReplayLimit[] = [
  gcra({ limit: 30, window: "1m" }),
  slidingLog({ limit: 100, window: "1h" }),
];

/**
 * Reads a limit or a list of limits from JSON, like `readPolicy` of core. Throws `HEADGATE_INVALID_LIMIT`, also for a limit that a replay
 * does not support.
 */
export function readLimits(value: unknown): readonly ReplayLimit[] {
  const limits = [readPolicy(value)].flat();
  for (const limit of limits) requireReplayable(limit);
  return limits as readonly ReplayLimit[];
}

function requireReplayable({ algorithm, per = "default" }: Limit): void {
  if (!(DIMENSIONS as readonly string[]).includes(per)) {
    throw new HeadgateError(
      "HEADGATE_INVALID_LIMIT",
      `per must be "ip" or "global", or left out, got ${JSON.stringify(per)}`,
    );
  }
  if (algorithm === "concurrency") {
    throw new HeadgateError(
      "HEADGATE_INVALID_LIMIT",
      "concurrency is not supported, because a log does not record how long requests took: leave it out",
    );
  }
}

/** Names the policies, each name once. Throws `HEADGATE_INVALID_LIMIT`, or `HEADGATE_INVALID_OPTION` for none or too many. */
export function readPolicies(policies: ReplayPolicies): readonly ReplayPolicy[] {
  const list = listOf(policies).map(({ name, limits }) => ({ name, limits: readLimits(limits) }));
  if (list.length === 0 || list.length > MAX_POLICIES) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `policies must be 1 to ${MAX_POLICIES} policies, got ${list.length}`,
    );
  }
  const names = list.map(({ name, limits }) => name ?? namesOf(limits));
  return list.map(({ limits }, i) => {
    const name = names[i] as string;
    const same = names.slice(0, i).filter((other) => other === name).length;
    return { name: same === 0 ? name : `${name} (${same + 1})`, limits };
  });
}

function listOf(policies: ReplayPolicies): readonly NamedPolicy[] {
  if (isPolicies(policies)) return policies;
  if (isLimits(policies)) return [{ limits: policies }];
  return Object.entries(policies).map(([name, limits]) => ({ name, limits }));
}

function isPolicies(policies: ReplayPolicies): policies is readonly NamedPolicy[] {
  return Array.isArray(policies) && Object.hasOwn(Object(policies[0]), "limits");
}

/** Also for anything that is no policy, which is reported as a wrong limit. */
function isLimits(policies: ReplayPolicies): policies is ReplayLimits {
  return (
    Array.isArray(policies) ||
    typeof Object(policies).algorithm === "string" ||
    Object(policies) !== policies
  );
}

/** Names a policy by its limits. */
function namesOf(limits: readonly ReplayLimit[]): string {
  return describeLimits(limits)
    .map(({ name }) => name)
    .join(", ");
}

/** Describes limits as a limiter reports them. */
export function describeLimits(limits: readonly ReplayLimit[]): readonly LimitDescription[] {
  return createLimiter({ limits }).limits;
}
