import type { Cost, Decision, LimitState } from "@headgate/core";
import type { ControlRecord, Inspection } from "@headgate/core/operate";
import { dimensionsOf, GLOBAL_SUBJECT } from "@headgate/core/operate";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError, EXIT } from "../command/command-error.ts";
import { readJson } from "../command/read-json.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions } from "../connect/connection.ts";
import type { Session } from "../connect/session.ts";
import { withSession } from "../connect/session.ts";
import { writeJson } from "../output/json.ts";
import { withTimesInMs } from "../output/override.ts";
import { printSection } from "../output/section.ts";
import { formatSubject } from "../output/subject.ts";
import { formatSpan } from "../output/time.ts";
import { findDenied, printDenied } from "./denied-address.ts";
import type { SubjectOptions } from "./given-subject.ts";
import { addSubjectOptions, readSubject } from "./given-subject.ts";
import type { LimiterOptions } from "./known-limiters.ts";
import { addLimiterOptions, findLimiters } from "./known-limiters.ts";
import type { MadeSubject, Subject } from "./make-subjects.ts";
import { makeAllSubjects, nothingFits } from "./make-subjects.ts";
import type { SubjectOverride } from "./misfit.ts";
import { formatSubjectOverride, judgedOverrides, toDocument } from "./misfit.ts";
import { formatBlock, formatCalendar, formatEnd, formatUse } from "./words.ts";

type Options = ConnectionOptions &
  SubjectOptions &
  LimiterOptions & { readonly cost: string; readonly json?: boolean };

/** Why a request would pass or not. */
interface Explained {
  readonly limiter: string;
  readonly subject: Subject;
  /** The dimensions without a given subject: their limits are not looked at. */
  readonly missing: readonly string[];
  readonly decision: Decision;
  /** The name of the binding limit. */
  readonly binding: string;
  /** What is used now. */
  readonly limits: readonly LimitState[];
  /** In words, when the calendar window of each limit ends. */
  readonly calendars: readonly (string | undefined)[];
  readonly blocks: Inspection["blocks"];
  readonly overrides: readonly SubjectOverride[];
  readonly isMixed: boolean;
}

export const addExplain: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("explain [subject]")
    .summary("say in words whether a request would pass now, and why")
    .description(
      "Says in words whether a request would pass now, which limit binds, why, and when it passes. Ends with 1 where it would be denied.",
    );
  addExamples(command, {
    "headgate explain --ip 203.0.113.7 --limiter api": "why a client gets 429, and until when",
    "headgate explain ada --limiter api --cost 10": "whether a request that costs ten would pass",
  });
  addConnectionOptions(addLimiterOptions(addSubjectOptions(command)))
    .option(
      "--cost <units>",
      "what the request costs: a number, or JSON by the names of limits",
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
  if (limiter === undefined)
    throw new CommandError("explain is about one limiter: give --limiter NAME");
  const cost = readCost(options.cost);
  return withSession(options, context, async (session) => {
    const given = await readSubject(text, options, context);
    const { connection } = session;
    const known = await findLimiters(connection, options, context);
    const extended = new Set(known.flatMap(({ extends: name }) => name ?? []));
    const parents = [...extended].map((name) =>
      findLimiters(connection, { limiter: name }, context),
    );
    const control = await session.operator.readControl();
    const all = [...known, ...(await Promise.all(parents)).flat()];
    const { made, skipped } = await makeAllSubjects(all, given);
    const explained: Explained[] = [];
    for (const one of made) explained.push(await ask(session, one, cost, control));
    const denied = await findDenied(session, given);
    if (explained.length === 0 && denied === undefined) throw nothingFits(skipped);
    if (options.json === true) {
      const denyList = denied?.entries.map(withTimesInMs) ?? [];
      const documents = explained.map(toDocument);
      writeJson(context.stdout, { explained: documents, skipped, denyList });
    } else {
      if (denied !== undefined) printDenied(denied, session, context);
      for (const one of explained) print(one, limiter, session, context);
      for (const { limiter: name, why } of skipped) {
        printSection(context, `${name}: not looked at`, [why]);
      }
    }
    // The deny list is for requests by HTTP.
    const isDenied = denied !== undefined && known.some(({ uses }) => uses.length > 0);
    const isAllowed = explained.every(({ decision }) => decision.allowed) && !isDenied;
    return isAllowed ? 0 : EXIT.found;
  });
}

function readCost(text: string): Cost {
  return (/^\d+$/.test(text) ? Number(text) : readJson("--cost", text)) as Cost;
}

async function ask(
  { operator: admin, now }: Session,
  [{ limiter, isMixed }, named]: MadeSubject,
  cost: Cost,
  control: ControlRecord,
): Promise<Explained> {
  const dimensions = dimensionsOf(limiter.limits);
  const subject = dimensions.includes("global") ? { ...named, global: GLOBAL_SUBJECT } : named;
  const asked = limiter.limits.filter(({ per = "default" }) => Object.hasOwn(subject, per));
  const { limits } = await admin.peek(limiter, subject, { cost: 0 });
  const { blocks } = await admin.inspect(limiter, subject);
  const decision = await admin.peek(limiter, subject, { cost });
  return {
    limiter: limiter.name,
    subject,
    missing: dimensions.filter((dimension) => !Object.hasOwn(subject, dimension)),
    decision,
    binding: bindingOf(decision),
    limits,
    calendars: asked.map((limit, i) => formatCalendar(limit, limits[i] as LimitState, now())),
    blocks,
    overrides: judgedOverrides(control, limiter, subject, now()),
    isMixed,
  };
}

/** The limit whose numbers a decision reports. */
function bindingOf({ limits, limit, remaining, resetAfterMs }: Decision): string {
  const binding = limits.find(
    (one) =>
      one.limit === limit && one.remaining === remaining && one.resetAfterMs === resetAfterMs,
  );
  return (binding as LimitState).name;
}

function print(
  explained: Explained,
  limiter: string,
  session: Session,
  context: CommandContext,
): void {
  const now = session.now();
  const { decision, subject, blocks, overrides, isMixed } = explained;
  const { allowed, shadow, wouldAllow } = decision;
  const dimensions = new Set(explained.limits.map(({ per }) => per)).size;
  const who = formatSubject(subject);
  const verdict = allowed ? "would pass" : "would be denied";
  const { missing } = explained;
  printSection(context, `${explained.limiter}: ${who} ${verdict} now`, [
    ...(explained.limiter === limiter
      ? []
      : [`decided together with ${limiter}: both must let it pass`]),
    ...(isMixed
      ? ["by one of several policies under this name: headgate limiters shows them"]
      : []),
    ...(missing.length > 0
      ? [`not looked at: the limits per ${missing.join(" and ")}, because no subject is given`]
      : []),
    ...(shadow && !wouldAllow ? ["in shadow: otherwise it would be denied"] : []),
    ...blocks.map((block) => formatBlock(block, dimensions, now)),
    ...formatBinding(explained, now),
    ...explained.limits.map((state) => `${state.name}: ${formatUse(state, now)}`),
    ...explained.calendars.filter((line) => line !== undefined),
    ...overrides.map(formatSubjectOverride),
    ...(wouldAllow && isUsed(explained) ? [REMEMBERED] : []),
  ]);
}

/** What only a process knows. */
const REMEMBERED =
  "a process that denied it within the last second may go on denying it until that second is over";

function isUsed({ limits }: Explained): boolean {
  return limits.some(({ resetAfterMs }) => resetAfterMs > 0);
}

/** The limit that decides, and when the same request passes. */
function formatBinding({ decision, binding, blocks }: Explained, now: number): readonly string[] {
  const { wouldAllow, limits, cost } = decision;
  const state = limits.find(({ name }) => name === binding) as LimitState;
  const costs = typeof cost === "number" ? cost : cost[state.name];
  if (wouldAllow) return [`${binding} binds: ${state.remaining} of ${state.limit} left afterwards`];
  if (state.retryAfterMs === Number.POSITIVE_INFINITY) {
    return [`${binding} binds: the request costs ${costs}, more than it ever grants at once`];
  }
  if (state.windowMs === 0 && blocks.length === 0) {
    const again = formatSpan(state.retryAfterMs);
    return [`${binding} binds: a place is free when its work is over; ask again in ${again}`];
  }
  return [
    ...(blocks.length > 0 ? [] : [`${binding} binds: the request costs ${costs}`]),
    `it passes at ${formatEnd(state.retryAfterMs, now)}, unless other requests come first`,
  ];
}
