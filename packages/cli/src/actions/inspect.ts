import type { Decision } from "@headgate/core";
import type { ControlRecord, Inspection } from "@headgate/core/admin";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import type { ConnectionOptions, Session } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { withTimesInMs } from "../output/override.ts";
import { printSection } from "../output/section.ts";
import { formatSubjectLabel } from "../output/subject.ts";
import type { SubjectOverride } from "./inspection.ts";
import {
  findDeniedAddress,
  formatInspection,
  formatSubjectOverride,
  overridesOf,
  printDeniedAddress,
  toJson,
} from "./inspection.ts";
import type { LimiterOptions, LimiterSubject, Subject, SubjectOptions } from "./selection.ts";
import {
  addLimiterOptions,
  addSubjectOptions,
  findLimiters,
  makeSubjectsOfAll,
  noSubjectError,
  readSubjectQuery,
} from "./selection.ts";

type Options = ConnectionOptions & SubjectOptions & LimiterOptions & { readonly json?: boolean };

/** The state of a subject in one limiter. */
interface LimiterInspection {
  readonly limiter: string;
  readonly subject: Subject;
  /** The usage under the effective limits. */
  readonly limits: Decision["limits"];
  readonly blocked: boolean;
  readonly blocks: Inspection["blocks"];
  readonly overrides: readonly SubjectOverride[];
  readonly shadow: boolean;
  readonly hasOtherVersions: boolean;
}

interface TimedInspection {
  readonly inspection: LimiterInspection;
  /** The server's time just before the reading, in milliseconds, to which waits are added. */
  readonly at: number;
}

export const addInspect: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("inspect [subject]")
    .summary("show the usage and the blocks of a subject")
    .description(
      "Shows how much of each limit a subject has used, when the limit fully recovers, and the blocks of the subject.",
    );
  addExamples(command, {
    "headgate inspect ada": "in every limiter with a single dimension",
    "headgate inspect --ip 203.0.113.7 --limiter api": "a client address in one limiter",
    "headgate inspect --subject tenant=acme --subject user=ada": "in a limiter with two dimensions",
  });
  addConnectionOptions(addLimiterOptions(addSubjectOptions(command)))
    .option("--json", "print one JSON document")
    .action(
      handle((text: string | undefined, options: Options) => inspect(text, options, context)),
    );
};

function inspect(
  text: string | undefined,
  options: Options,
  context: CommandContext,
): Promise<number> {
  return withSession(options, context, async (session) => {
    const query = await readSubjectQuery(text, options, context);
    const known = await findLimiters(session, options, context);
    const control = await session.admin.readControl();
    const { limiterSubjects, skipped } = await makeSubjectsOfAll(known, query);
    const inspections: TimedInspection[] = [];
    for (const one of limiterSubjects)
      inspections.push(await inspectLimiter(session, one, control));
    const denied = await findDeniedAddress(session, query);
    if (inspections.length === 0 && denied === undefined) throw noSubjectError(skipped);
    if (options.json === true) {
      const denyList = denied?.entries.map(withTimesInMs) ?? [];
      const limiters = inspections.map(({ inspection }) => toJson(inspection));
      writeJson(context.stdout, { limiters, skipped, denyList });
      return 0;
    }
    if (denied !== undefined) printDeniedAddress(denied, session, context);
    for (const one of inspections) print(one, context);
    return 0;
  });
}

async function inspectLimiter(
  { admin, now }: Session,
  [{ limiter, hasOtherVersions }, subject]: LimiterSubject,
  control: ControlRecord,
): Promise<TimedInspection> {
  const at = now();
  const decision = await admin.peek(limiter, subject, { cost: 0 });
  const { limits, blocked, blocks } = await admin.inspect(limiter, subject);
  // Limits of other shapes follow the limiter's own limits, whose usage is that under the effective limits.
  const others = limits.slice(decision.limits.length);
  const inspection: LimiterInspection = {
    limiter: limiter.name,
    subject,
    limits: [...decision.limits, ...others],
    blocked,
    blocks,
    overrides: overridesOf(control, limiter, subject, at),
    shadow: decision.shadow,
    hasOtherVersions,
  };
  return { inspection, at };
}

function print({ inspection, at }: TimedInspection, context: CommandContext): void {
  const { limiter, subject, overrides, shadow, hasOtherVersions } = inspection;
  printSection(context, `${limiter}, ${formatSubjectLabel(subject)}`, [
    ...(hasOtherVersions
      ? ["one of several versions of this policy: headgate limiters shows them"]
      : []),
    ...formatInspection(inspection, at),
    ...overrides.map(formatSubjectOverride),
    ...(shadow ? ["in shadow mode: no request is denied"] : []),
  ]);
}
