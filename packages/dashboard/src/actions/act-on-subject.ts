import type {
  ActionResult as Acted,
  ActionOptions,
  Admin,
  ForgetResult,
  Inspection,
  LimiterVersion,
} from "@headgate/core/admin";
import { dimensionsOf, limiterVersionsOf } from "@headgate/core/admin";
import type { Action } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { pluralize } from "../format/count.ts";
import { formatInspection } from "../format/inspection.ts";
import { describeOverride } from "../format/override.ts";
import { describeSubject } from "../format/subject.ts";
import { badRequest, unknownLimiter } from "../serve/http-error.ts";
import type { ActionOutcome } from "./perform-action.ts";
import { stateOfSubject } from "./previewed-state.ts";

type SubjectAction = Extract<Action, { kind: "block" | "unblock" | "reset" | "forget" }>;

/** Acts on a subject of a limiter, for each policy if processes have policies with different counters. */
export async function actOnSubject(
  reader: FleetReader,
  action: SubjectAction,
  options: ActionOptions,
): Promise<ActionOutcome> {
  const { operator: admin } = reader;
  const limiters = await findLimiters(reader, action);
  const done: Acted<Inspection>[] = [];
  for (const { limiter } of limiters) {
    done.push(await act(admin, action, limiter, options));
  }
  const now = await reader.serverTime();
  const [{ effectiveAt }] = done.slice(-1) as [Acted<Inspection>];
  return {
    before: done.flatMap(({ before }) => formatInspection(before, now)),
    after: [
      ...done.flatMap(({ after }) => formatInspection(after, now)),
      ...done.flatMap((one) => formatForgotten(one as Partial<ForgetResult>)),
    ],
    effectiveAt,
    state: stateOfSubject(
      done.map(({ before }) => before),
      now,
    ),
  };
}

/** The policies of a limiter that count by the dimensions of a subject. */
async function findLimiters(
  { loadRegistry }: FleetReader,
  { limiter, subject }: SubjectAction,
): Promise<readonly LimiterVersion[]> {
  const listed = await loadRegistry();
  if (!listed.limiters.some(({ name }) => name === limiter)) throw unknownLimiter();
  const known = limiterVersionsOf(listed.limiters, limiter);
  if (known.length === 0) {
    throw badRequest(
      "the limiter's policy is too long to be listed: use the headgate command instead",
    );
  }
  const subjectDimensions = Object.keys(subject);
  const matching = known.filter(({ limiter: { limits } }) => {
    const dimensions = dimensionsOf(limits);
    return subjectDimensions.every((dimension) => dimensions.includes(dimension));
  });
  if (matching.length === 0) throw badRequest("the limiter does not count by this dimension");
  return [...new Map(matching.map((one) => [one.counterIdentity, one])).values()];
}

function act(
  admin: Admin,
  action: SubjectAction,
  limiter: LimiterVersion["limiter"],
  options: ActionOptions,
): Promise<Acted<Inspection>> {
  const { kind, subject } = action;
  if (kind === "block") return admin.block(limiter, subject, `${action.forMs}ms`, options);
  return admin[kind](limiter, subject, options);
}

/** The data that `forget` erases in addition to counters. */
function formatForgotten({
  overrides = [],
  redactedLogEntries = 0,
  clearedLists = 0,
}: Partial<ForgetResult>) {
  return [
    ...overrides.map(
      (one) => `override removed: ${describeSubject(one.subject)}: ${describeOverride(one)}`,
    ),
    ...(redactedLogEntries > 0
      ? [`taken out of ${pluralize(redactedLogEntries, "entry", "entries")} of the log`]
      : []),
    ...(clearedLists > 0 ? [`taken out of ${pluralize(clearedLists, "list")} of usage`] : []),
  ];
}
