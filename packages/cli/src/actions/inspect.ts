import type { Decision } from "@headgate/core";
import type { ControlRecord, Inspection } from "@headgate/core/operate";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions } from "../connect/connection.ts";
import type { Session } from "../connect/session.ts";
import { withSession } from "../connect/session.ts";
import { writeJson } from "../output/json.ts";
import { withTimesInMs } from "../output/override.ts";
import { printSection } from "../output/section.ts";
import { formatSubject } from "../output/subject.ts";
import { findDenied, printDenied } from "./denied-address.ts";
import type { SubjectOptions } from "./given-subject.ts";
import { addSubjectOptions, readSubject } from "./given-subject.ts";
import type { LimiterOptions } from "./known-limiters.ts";
import { addLimiterOptions, findLimiters } from "./known-limiters.ts";
import type { MadeSubject, Subject } from "./make-subjects.ts";
import { makeAllSubjects, nothingFits } from "./make-subjects.ts";
import type { SubjectOverride } from "./misfit.ts";
import { formatSubjectOverride, judgedOverrides, toDocument } from "./misfit.ts";
import { formatInspection } from "./words.ts";

type Options = ConnectionOptions & SubjectOptions & LimiterOptions & { readonly json?: boolean };

/** What is known of a subject in one limiter. */
interface Inspected {
  readonly limiter: string;
  readonly subject: Subject;
  /** Under the numbers in force. */
  readonly limits: Decision["limits"];
  readonly blocked: boolean;
  readonly blocks: Inspection["blocks"];
  readonly overrides: readonly SubjectOverride[];
  readonly shadow: boolean;
  readonly isMixed: boolean;
}

export const addInspect: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("inspect [subject]")
    .summary("show what a subject has used of every limit, and what blocks it")
    .description(
      "Shows what a subject has used of every limit, what blocks it, and when it comes back.",
    );
  addExamples(command, {
    "headgate inspect ada": "in every limiter that has subjects of one part",
    "headgate inspect --ip 203.0.113.7 --limiter api": "an address, as the limiter counts it",
    "headgate inspect --subject tenant=acme --subject user=ada": "of a limiter with two dimensions",
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
    const given = await readSubject(text, options, context);
    const known = await findLimiters(session.connection, options, context);
    const control = await session.operator.readControl();
    const { made, skipped } = await makeAllSubjects(known, given);
    const inspected: Inspected[] = [];
    for (const one of made) inspected.push(await look(session, one, control));
    const denied = await findDenied(session, given);
    if (inspected.length === 0 && denied === undefined) throw nothingFits(skipped);
    if (options.json === true) {
      const denyList = denied?.entries.map(withTimesInMs) ?? [];
      writeJson(context.stdout, { limiters: inspected.map(toDocument), skipped, denyList });
      return 0;
    }
    if (denied !== undefined) printDenied(denied, session, context);
    for (const one of inspected) print(one, session, context);
    return 0;
  });
}

async function look(
  { operator: admin, now }: Session,
  [{ limiter, isMixed }, subject]: MadeSubject,
  control: ControlRecord,
): Promise<Inspected> {
  const decision = await admin.peek(limiter, subject, { cost: 0 });
  const { limits, blocked, blocks } = await admin.inspect(limiter, subject);
  // Behind the limiter's own, which are shown under the numbers in force, those of other shapes.
  const others = limits.slice(decision.limits.length);
  return {
    limiter: limiter.name,
    subject,
    limits: [...decision.limits, ...others],
    blocked,
    blocks,
    overrides: judgedOverrides(control, limiter, subject, now()),
    shadow: decision.shadow,
    isMixed,
  };
}

function print(inspected: Inspected, { now }: Session, context: CommandContext): void {
  const { limiter, subject, overrides, shadow, isMixed } = inspected;
  printSection(context, `${limiter}, ${formatSubject(subject)}`, [
    ...(isMixed ? ["one of several policies under this name: headgate limiters shows them"] : []),
    ...formatInspection(inspected, now()),
    ...overrides.map(formatSubjectOverride),
    ...(shadow ? ["in shadow: nobody is denied"] : []),
  ]);
}
