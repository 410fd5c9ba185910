import type { Channel } from "node:diagnostics_channel";
import { channel } from "node:diagnostics_channel";
import type { Decision } from "../common/decision.ts";
import { GLOBAL_DIMENSION } from "../common/policy.ts";
import type { LimiterLabels } from "../common/publish.ts";
import { CHANNELS, publish } from "../common/publish.ts";
import type { LimitGroup } from "../policy/compiled-policy.ts";
import type { Subjects } from "../policy/counters.ts";
import { GLOBAL_SUBJECT } from "../policy/counters.ts";
import type { LimiterCore } from "./limiter-internals.ts";

/** Published on `headgate:decision`. */
export interface PublishedDecision extends LimiterLabels {
  /** In HTTP, the method and the configured route, such as `GET /users/:id`; undefined if there is none. */
  readonly route: string | undefined;
  /** The counted subject, by dimension, as accepted by the limiter's `reset`. */
  readonly subject: Readonly<Record<string, string>>;
  readonly decision: Decision;
  /** How long the decision took: milliseconds, with fractions. */
  readonly durationMs: number;
  /**
   * Whether the limiter is in shadow mode, like `decision.shadow`: then `decision.wouldAllow` is the decision outside shadow
   * mode.
   */
  readonly shadow: boolean;
  /** True if `onDenied` let a denied request through; missing otherwise. */
  readonly allowedByOnDenied?: true;
}

/** The content of the message for a decision. */
export type DecisionMessage = Omit<PublishedDecision, "shadow">;

/** Check it for subscribers before reading a clock, so that a decision costs nothing more without subscribers. */
export const decisions: Channel = channel(CHANNELS.decision);

export function publishDecision(taken: DecisionMessage): void {
  const { limiter, plugin, route, subject, decision, durationMs, allowedByOnDenied } = taken;
  const { shadow } = decision;
  // Field by field: spreading takes longer than all the rest.
  const message = { limiter, plugin, route, subject, decision, durationMs, shadow };
  publish(
    decisions,
    (allowedByOnDenied ? { ...message, allowedByOnDenied } : message) satisfies PublishedDecision,
  );
}

/** Publishes a decision of `consume` or `wait`. */
export function publishLimiterDecision(
  { name, policy }: LimiterCore,
  subjects: Subjects,
  decision: Decision,
  durationMs: number,
): void {
  const subject = countedSubjects({ groups: policy.groups, subjects });
  const { plugin } = policy.labels;
  publishDecision({ limiter: name, plugin, route: undefined, subject, decision, durationMs });
}

/** The groups of limits that decided, and their subjects. */
export interface RequestedGroups {
  readonly groups: readonly LimitGroup[];
  readonly subjects: Subjects;
}

/** Fast path for the usual case, in a third of the time: one dimension, with a subject. */
function singleSubject({
  groups,
  subjects,
}: RequestedGroups): Readonly<Record<string, string>> | undefined {
  const dimension = groups.length === 1 ? groups[0]?.dimension : undefined;
  if (dimension === undefined || dimension === GLOBAL_DIMENSION) return undefined;
  const subject = subjectOf(subjects, dimension);
  return typeof subject === "string" ? { [dimension]: subject } : undefined;
}

function subjectOf(subjects: Subjects, dimension: string): unknown {
  return typeof subjects === "string" ? subjects : subjects[dimension];
}

/**
 * The counted subjects. `global` is included only if there is no other dimension, so that passing it to `reset` does not reset
 * all clients.
 */
export function countedSubjects(
  ...requested: readonly RequestedGroups[]
): Readonly<Record<string, string>> {
  const single =
    requested.length === 1 ? singleSubject(requested[0] as RequestedGroups) : undefined;
  if (single !== undefined) return single;
  const found: [dimension: string, subject: string][] = [];
  for (const { groups, subjects } of requested) {
    for (const { dimension } of groups) {
      if (dimension === GLOBAL_DIMENSION) continue;
      const subject = subjectOf(subjects, dimension);
      if (typeof subject === "string") found.push([dimension, subject]);
    }
  }
  return Object.fromEntries(found.length > 0 ? found : [[GLOBAL_DIMENSION, GLOBAL_SUBJECT]]);
}
