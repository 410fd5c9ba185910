import type { ControlRecord } from "@headgate/core/admin";
import type { AddCommand } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import type { ConnectionOptions, Session } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { formatSubjectLabel } from "../output/policy.ts";
import { formatInspection } from "./inspection.ts";
import type { LimiterSubject, SelectionOptions } from "./selection.ts";
import { addSelectionOptions, findLimiters, readSubjectQuery } from "./selection.ts";
import type { SubjectReport } from "./subject-report.ts";
import { describeOverrides, reportOnSubjects } from "./subject-report.ts";

type Options = ConnectionOptions & SelectionOptions & { readonly json?: boolean };

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
  addConnectionOptions(addSelectionOptions(command))
    .option("--json", "print one JSON document")
    .action(
      handle((text: string | undefined, options: Options) =>
        withSession(options, context, async (session) => {
          const query = await readSubjectQuery(text, options, context);
          const known = await findLimiters(session, options, context);
          const found = await reportOnSubjects(session, known, query, (one, control) =>
            inspect(session, one, control),
          );
          const { reports, skipped, denyList } = found;
          const limiters = reports.map(({ document }) => document);
          if (options.json === true) writeJson(context.stdout, { limiters, skipped, denyList });
          else found.print(context);
          return 0;
        }),
      ),
    );
};

async function inspect(
  { admin, now }: Session,
  [{ limiter, hasOtherVersions }, subject]: LimiterSubject,
  control: ControlRecord,
): Promise<SubjectReport<object>> {
  // Waits are added to the time just before the reading.
  const at = now();
  const { limits: ownLimits, shadow } = await admin.peek(limiter, subject, { cost: 0 });
  const { limits: allLimits, blocked, blocks } = await admin.inspect(limiter, subject);
  // Limits of other shapes follow the limiter's own limits, whose usage is that under the effective limits.
  const limits = [...ownLimits, ...allLimits.slice(ownLimits.length)];
  const overrides = describeOverrides(control, limiter, subject, at);
  return {
    document: {
      limiter: limiter.name,
      subject,
      limits,
      blocked,
      blocks,
      overrides: overrides.documents,
      shadow,
      hasOtherVersions,
    },
    headline: `${limiter.name}, ${formatSubjectLabel(subject)}`,
    lines: [
      ...(hasOtherVersions
        ? ["one of several versions of this policy: headgate limiters --processes shows why"]
        : []),
      ...formatInspection({ limits, blocks }, at),
      ...overrides.lines,
      ...(shadow ? ["in shadow mode: no request is denied"] : []),
    ],
  };
}
