import type {
  Action as Acted,
  ActionOptions,
  Forgotten,
  Inspection,
  KnownLimiter,
  Operator,
} from "@headgate/core/operate";
import { dimensionsOf, knownLimiters } from "@headgate/core/operate";
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
  const { operator } = reading;
  const limiters = await findLimiters(reading, action);
  const done: Acted<Inspection>[] = [];
  for (const { limiter } of limiters) {
    done.push(await act(operator, action, limiter, options));
  }
  const now = await reading.now();
  const [{ inForceAt }] = done.slice(-1) as [Acted<Inspection>];
  return {
    before: done.flatMap(({ before }) => formatInspection(before, now)),
    after: [
      ...done.flatMap(({ after }) => formatInspection(after, now)),
      ...done.flatMap((one) => forgottenIn(one as Partial<Forgotten>)),
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
): Promise<readonly KnownLimiter[]> {
  const listed = await directory();
  if (!listed.limiters.some(({ name }) => name === limiter)) throw unknownLimiter();
  const known = knownLimiters(listed.limiters, limiter);
  if (known.length === 0) {
    throw badRequest("the limiter's policy is too long to be listed: act with the command");
  }
  const named = Object.keys(subject);
  const fitting = known.filter(({ limiter: { limits } }) => {
    const dimensions = dimensionsOf(limits);
    return named.every((dimension) => dimensions.includes(dimension));
  });
  if (fitting.length === 0) throw badRequest("the limiter does not count by this dimension");
  return [...new Map(fitting.map((one) => [one.counters, one])).values()];
}

function act(
  operator: Operator,
  action: SubjectAction,
  limiter: KnownLimiter["limiter"],
  options: ActionOptions,
): Promise<Acted<Inspection>> {
  const { kind, subject } = action;
  if (kind === "block") return operator.block(limiter, subject, `${action.forMs}ms`, options);
  return operator[kind](limiter, subject, options);
}

/** What `forget` erases besides counters. */
function forgottenIn({ overrides = [], logged = 0, listed = 0 }: Partial<Forgotten>) {
  return [
    ...overrides.map(
      (one) => `override removed: ${formatSubject(one.subject)}: ${describeOverride(one)}`,
    ),
    ...(logged > 0 ? [`taken out of ${logged} entries of the log`] : []),
    ...(listed > 0 ? [`taken out of ${listed} lists of usage`] : []),
  ];
}
