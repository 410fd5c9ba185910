import type { Cost, Decision, LimitState } from "@headgate/core";
import type { ControlRecord, Inspection, LimiterVersion, SubjectQuery } from "@headgate/core/admin";
import { dimensionsOf, GLOBAL_SUBJECT, queriedAddress } from "@headgate/core/admin";
import { formatSpan, pluralize } from "@headgate/replay/internal";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError, EXIT } from "../command/command-error.ts";
import { readJson } from "../command/option-values.ts";
import type { ConnectionOptions, Session } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { formatSubjectLabel } from "../output/policy.ts";
import { printSection } from "../output/style.ts";
import { formatBlock, formatCalendar, formatEnd, formatUsage } from "./inspection.ts";
import type { LimiterSubject, SelectionOptions, Subject } from "./selection.ts";
import { addSelectionOptions, findLimiters, readSubjectQuery } from "./selection.ts";
import type { SubjectReport, SubjectReports } from "./subject-report.ts";
import { describeOverrides, reportOnSubjects } from "./subject-report.ts";

type Options = ConnectionOptions &
  SelectionOptions & { readonly cost: string; readonly json?: boolean };

/** Whether a limiter would allow a request, and why. */
interface Explanation {
  readonly limiter: string;
  readonly subject: Subject;
  /** The dimensions without a given subject. Their limits are not checked. */
  readonly missingDimensions: readonly string[];
  /** The answer of the deny list and of the limits together. */
  readonly allowed: boolean;
  /** Whether the deny list denies the request, whatever the limits say: it applies to HTTP requests only. */
  readonly onDenyList: boolean;
  /** The answer of the limits. */
  readonly decision: Decision;
  readonly binding: string;
  /** The present usage. */
  readonly limits: readonly LimitState[];
  /** Formatted ends of calendar windows, by limit. */
  readonly calendarEnds: readonly (string | undefined)[];
  readonly blocks: Inspection["blocks"];
  readonly overrides: readonly object[];
  readonly hasOtherVersions: boolean;
}

export const addExplain: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("explain [subject]")
    .summary("explain whether a request would be allowed now, and why")
    .description(
      "Explains whether a request would be allowed now, by every limiter or the one that is named, and by the deny list: which limit decides, why, and when the request will be allowed. Exits with 1 if the request would be denied.",
    );
  addExamples(command, {
    "headgate explain --ip 203.0.113.7": "why a client gets 429, and until when, in all limiters",
    "headgate explain --ip 203.0.113.7 --limiter api": "in one limiter",
    "headgate explain ada --limiter api --cost 10":
      "whether a request with a cost of 10 would be allowed",
  });
  addConnectionOptions(addSelectionOptions(command))
    .option(
      "--cost <units>",
      "the cost of the request: a number, or JSON by the names of limits",
      "1",
    )
    .option("--json", "print one JSON document")
    .action(
      handle((text: string | undefined, options: Options) => explain(text, options, context)),
    );
};

async function explain(
  text: string | undefined,
  options: Options,
  context: CommandContext,
): Promise<number> {
  const { limiter } = options;
  const cost = readCost(options.cost);
  if (limiter === undefined && typeof cost !== "number") {
    throw new CommandError("--cost by the names of limits is for one limiter: give --limiter NAME");
  }
  return withSession(options, context, async (session) => {
    const query = await readSubjectQuery(text, options, context);
    const known = await findLimiters(session, options, context);
    const limiters = limiter === undefined ? known : await withParents(session, known, context);
    const found = await reportOnSubjects(
      session,
      limiters,
      query,
      (one, control, isDenied) =>
        explainLimiter(session, one, { cost, control, isDenied, limiter }),
      { includesShared: true },
    );
    const { skipped, denyList } = found;
    // As on the dashboard: denials first, and of these what lasts longest.
    const reports = found.reports.toSorted((one, other) => waitOf(other) - waitOf(one));
    const explanations = reports.map(({ document }) => document);
    if (options.json === true) {
      writeJson(context.stdout, { explanations, skipped, denyList });
    } else {
      if (limiter === undefined) printVerdict(query, explanations, denyList.length > 0, context);
      found.print(context, reports);
      printSkipped(skipped, limiter, context);
      const address = queriedAddress(query);
      if (limiter === undefined && denyList.length === 0 && address !== undefined) {
        printSection(context, `deny list: ${address} is not on it`, []);
      }
    }
    const isDenied = denyList.length > 0 && known.some(({ uses }) => uses.length > 0);
    return explanations.every(({ allowed }) => allowed) && !isDenied ? 0 : EXIT.found;
  });
}

/** The versions of a limiter, and those of the limiters that they extend, which decide with them. */
async function withParents(
  session: Session,
  known: readonly LimiterVersion[],
  context: CommandContext,
): Promise<readonly LimiterVersion[]> {
  const extended = new Set(known.flatMap(({ extends: name }) => name ?? []));
  const parents = [...extended].map((name) => findLimiters(session, { limiter: name }, context));
  return [...known, ...(await Promise.all(parents)).flat()];
}

/** How long a denial lasts, in milliseconds; −1 for what would be allowed. */
function waitOf({ document: { allowed, decision } }: SubjectReport<Explanation>): number {
  return allowed ? -1 : decision.retryAfterMs;
}

/** Prints the answer of all limiters together, in the words of the dashboard. */
function printVerdict(
  { text, ip, header, named = new Map() }: SubjectQuery,
  explanations: readonly Explanation[],
  onDenyList: boolean,
  context: CommandContext,
): void {
  const client =
    text ??
    ip ??
    (header
      ? `the client with this ${header.name}`
      : formatSubjectLabel(Object.fromEntries(named)));
  const count = new Set(explanations.map(({ limiter }) => limiter)).size;
  const denying = new Set(explanations.filter(({ allowed }) => !allowed).map((one) => one.limiter));
  const allLimiters =
    count === 1 ? "the limiter that may count it" : `all ${count} limiters that may count it`;
  const verdict = onDenyList
    ? "is denied by every HTTP limiter: it is on the deny list"
    : denying.size > 0
      ? `is denied now by ${[...denying].join(", ")}`
      : `is allowed now by ${allLimiters}`;
  printSection(context, `${client} ${verdict}`, []);
}

function printSkipped(
  skipped: SubjectReports<Explanation>["skipped"],
  limiter: string | undefined,
  context: CommandContext,
): void {
  if (limiter !== undefined) {
    for (const { limiter: name, reason } of skipped) {
      printSection(context, `${name}: not checked`, [reason]);
    }
  } else if (skipped.length > 0) {
    const count = new Set(skipped.map(({ limiter: name }) => name)).size;
    printSection(
      context,
      `${pluralize(count, "limiter")} skipped, as ${count === 1 ? "it needs" : "they need"} another subject`,
      // Versions of a policy may count by the same.
      [...new Set(skipped.map(({ limiter: name, reason }) => `${name} ${reason}`))],
    );
  }
}

function readCost(text: string): Cost {
  return (/^\d+$/.test(text) ? Number(text) : readJson("--cost", text)) as Cost;
}

async function explainLimiter(
  { admin, now }: Session,
  [{ limiter, extends: parent, hasOtherVersions, uses }, givenSubject]: LimiterSubject,
  asked: {
    readonly cost: Cost;
    readonly control: ControlRecord;
    /** Whether the deny list has the client's address. */
    readonly isDenied: boolean;
    /** The name that the user gave, if any. */
    readonly limiter: string | undefined;
  },
): Promise<SubjectReport<Explanation>> {
  const dimensions = dimensionsOf(limiter.limits);
  const subject = dimensions.includes("global")
    ? { ...givenSubject, global: GLOBAL_SUBJECT }
    : givenSubject;
  // Waits are added to the time just before the reading. A later time would show the second after their end.
  const at = now();
  const [{ limits }, { blocks }, decision] = await Promise.all([
    admin.peek(limiter, subject, { cost: 0 }),
    admin.inspect(limiter, subject),
    admin.peek(limiter, subject, { cost: asked.cost }),
  ]);
  const onDenyList = asked.isDenied && uses.length > 0;
  const overrides = describeOverrides(asked.control, limiter, subject, at);
  const peekedLimits = limiter.limits.filter(({ per = "default" }) => Object.hasOwn(subject, per));
  const explanation: Explanation = {
    limiter: limiter.name,
    subject,
    missingDimensions: dimensions.filter((dimension) => !Object.hasOwn(subject, dimension)),
    allowed: decision.allowed && !onDenyList,
    onDenyList,
    decision,
    binding: bindingOf(decision),
    limits,
    calendarEnds: peekedLimits.map((limit, i) =>
      formatCalendar(limit, limits[i] as LimitState, at),
    ),
    blocks,
    overrides: overrides.documents,
    hasOtherVersions,
  };
  const isParent = asked.limiter !== undefined && asked.limiter !== limiter.name;
  const partner = isParent ? asked.limiter : parent;
  const verdict = explanation.allowed ? "would be allowed" : "would be denied";
  return {
    document: explanation,
    headline: `${limiter.name}: ${formatSubjectLabel(subject)} ${verdict} now`,
    lines: formatExplanation(explanation, overrides.lines, partner, at),
  };
}

/** The limit whose numbers the decision reports. */
function bindingOf({ limits, limit, remaining, resetAfterMs }: Decision): string {
  const binding = limits.find(
    (one) =>
      one.limit === limit && one.remaining === remaining && one.resetAfterMs === resetAfterMs,
  );
  return (binding as LimitState).name;
}

function formatExplanation(
  explanation: Explanation,
  overrides: readonly string[],
  partner: string | undefined,
  at: number,
): readonly string[] {
  const { missingDimensions, onDenyList, limits, blocks, decision } = explanation;
  const { shadow, wouldAllow } = decision;
  const dimensions = new Set(limits.map(({ per }) => per)).size;
  const isUsed = limits.some(({ resetAfterMs }) => resetAfterMs > 0);
  const notes: readonly (readonly [applies: boolean, note: string])[] = [
    [partner !== undefined, `decided together with ${partner}: both must allow it`],
    [
      explanation.hasOtherVersions,
      "one of several versions of this policy: headgate limiters --processes shows why",
    ],
    [
      missingDimensions.length > 0,
      `not checked: the limits per ${missingDimensions.join(" and ")}, because no subject is given`,
    ],
    [
      onDenyList,
      `the deny list decides; its limits would ${wouldAllow ? "allow it" : "deny it, too"}`,
    ],
    [shadow && !wouldAllow && !onDenyList, "in shadow mode: otherwise it would be denied"],
  ];
  return [
    ...notes.filter(([applies]) => applies).map(([, note]) => note),
    ...blocks.map((block) => formatBlock(block, dimensions, at)),
    ...(onDenyList ? [] : formatBinding(explanation, at)),
    ...limits.map((state) => `${state.name}: ${formatUsage(state, at)}`),
    ...explanation.calendarEnds.filter((line) => line !== undefined),
    ...overrides,
    ...(wouldAllow && !onDenyList && isUsed ? [REMEMBERED] : []),
  ];
}

/** What only a process knows. */
const REMEMBERED =
  "a process that denied it within the last second may go on denying it until that second is over";

/** Formats the limit that decides, and when the same request will be allowed. */
function formatBinding({ decision, binding, blocks }: Explanation, now: number): readonly string[] {
  const { wouldAllow, limits, cost } = decision;
  const state = limits.find(({ name }) => name === binding) as LimitState;
  const costs = typeof cost === "number" ? cost : cost[state.name];
  if (wouldAllow)
    return [`${binding} decides: ${state.remaining} of ${state.limit} left afterwards`];
  if (state.retryAfterMs === Number.POSITIVE_INFINITY) {
    return [
      `${binding} decides: the request costs ${costs}, which is more than the limit ever allows at once`,
    ];
  }
  if (state.windowMs === 0 && blocks.length === 0) {
    const again = formatSpan(state.retryAfterMs);
    return [`${binding} decides: all slots are in use; retry in ${again}`];
  }
  return [
    ...(blocks.length > 0 ? [] : [`${binding} decides: the request costs ${costs}`]),
    `it will be allowed at ${formatEnd(state.retryAfterMs, now)}, unless other requests come first`,
  ];
}
