import type {
  ActionResult as Acted,
  ActionOptions,
  Admin,
  ForgetResult,
  Inspection,
  LimiterVersion,
} from "@headgate/core/operate";
import { dimensionsOf, limiterVersionsOf } from "@headgate/core/operate";
import type { Action } from "../api.ts";
import { describeOverride } from "../format/override.ts";
import { formatInspection } from "../format/state.ts";
import { formatSubject } from "../format/subject.ts";
import type { Reading } from "../reading.ts";
import { badRequest, unknownLimiter } from "../serve/refusal.ts";
import type { Performed } from "./perform.ts";
import { stateOfSubject } from "./state.ts";

type SubjectAction = Extract<Action, { kind: "block" | "unblock" | "reset" | "forget" }>;

/** Acts on a subject of a limiter: if processes have policies with different counters, on each of them. */
export async function actOnSubject(
  reading: Reading,
  action: SubjectAction,
  options: ActionOptions,
): Promise<Performed> {
  const { operator: admin } = reading;
  const limiters = await findLimiters(reading, action);
  const done: Acted<Inspection>[] = [];
  for (const { limiter } of limiters) {
    done.push(await act(admin, action, limiter, options));
  }
  const now = await reading.now();
  const [{ inForceAt }] = done.slice(-1) as [Acted<Inspection>];
  return {
    before: done.flatMap(({ before }) => formatInspection(before, now)),
    after: [
      ...done.flatMap(({ after }) => formatInspection(after, now)),
      ...done.flatMap((one) => forgottenIn(one as Partial<ForgetResult>)),
    ],
    inForceAt,
    state: stateOfSubject(
      done.map(({ before }) => before),
      now,
    ),
  };
}

/** The policies of a limiter that count by the dimensions of a subject. */
async function findLimiters(
  { directory }: Reading,
  { limiter, subject }: SubjectAction,
): Promise<readonly LimiterVersion[]> {
  const listed = await directory();
  if (!listed.limiters.some(({ name }) => name === limiter)) throw unknownLimiter();
  const known = limiterVersionsOf(listed.limiters, limiter);
  if (known.length === 0) {
    throw badRequest("the limiter's policy is too long to be listed: act with the command");
  }
  const named = Object.keys(subject);
  const fitting = known.filter(({ limiter: { limits } }) => {
    const dimensions = dimensionsOf(limits);
    return named.every((dimension) => dimensions.includes(dimension));
  });
  if (fitting.length === 0) throw badRequest("the limiter does not count by this dimension");
  return [...new Map(fitting.map((one) => [one.counterIdentity, one])).values()];
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

/** What `forget` erases besides counters. */
function forgottenIn({ overrides = [], logged = 0, listed = 0 }: Partial<ForgetResult>) {
  return [
    ...overrides.map(
      (one) => `override removed: ${formatSubject(one.subject)}: ${describeOverride(one)}`,
    ),
    ...(logged > 0 ? [`taken out of ${logged} entries of the log`] : []),
    ...(listed > 0 ? [`taken out of ${listed} lists of usage`] : []),
  ];
}
