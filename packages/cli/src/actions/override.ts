import type { LimiterVersion, LimitOverride, NewOverride, Override } from "@headgate/core/operate";
import { overrideCoverageOf, readRegistry, requireCompatible } from "@headgate/core/operate";
import type { Command } from "commander";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { readEnd } from "../command/duration.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions } from "../connect/connection.ts";
import type { Session } from "../connect/session.ts";
import { withSession } from "../connect/session.ts";
import { formatSubject } from "../output/subject.ts";
import type { ActionOptions, Task } from "./action.ts";
import { addActionOptions, confirm, loggedOf, workOff } from "./action.ts";
import type { SubjectOptions } from "./given-subject.ts";
import { addSubjectOptions, readSubject } from "./given-subject.ts";
import type { LimiterOptions } from "./known-limiters.ts";
import { addLimiterOptions, findLimiters } from "./known-limiters.ts";
import type { Subject } from "./make-subjects.ts";
import { makeAllSubjects, nothingFits } from "./make-subjects.ts";
import { describeOverride } from "./words.ts";

type Options = ConnectionOptions & SubjectOptions & LimiterOptions & ActionOptions;

type SetOptions = Options & {
  readonly shadow?: string | undefined;
  readonly for?: string | undefined;
  readonly forever?: boolean | undefined;
};

export const addSet: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("set [numbers...]")
    .usage("[options] [limit.number=value...]")
    .summary("override a limiter's numbers, or put it in shadow")
    .description(
      "Overrides the numbers of a limiter or of one of its subjects, or puts it in shadow. A number is the limit, burst, capacity or refill of a limit. A new override replaces the one before it.",
    );
  addExamples(command, {
    "headgate set --limiter api 100-per-1m.limit=500 --for 2h": "for everybody",
    "headgate set --subject ada --limiter api 100-per-1m.limit=500": "for one subject, for a day",
    "headgate set --limiter api --shadow on --for 1h": "denies nobody, but still counts",
  });
  addOverrideOptions(command)
    .option("--shadow <on|off>", "deny nobody (on), or enforce the limits (off)")
    .option("--for <duration>", "how long, as 30m, 2h or 7d (default: 1d)")
    .option("--forever", "until it is removed")
    .action(handle((numbers: string[], options: SetOptions) => set(numbers, options, context)));
};

export const addUnset: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("unset")
    .summary("remove an override")
    .description("Removes the override of a limiter, or of one of its subjects.");
  addExamples(command, {
    "headgate unset --limiter api": "what was set for everybody",
    "headgate unset --limiter api --ip 203.0.113.7": "what was set for one subject",
  });
  addOverrideOptions(command).action(handle((options: Options) => unset(options, context)));
};

function addOverrideOptions(command: Command): Command {
  return addActionOptions(addConnectionOptions(addLimiterOptions(addSubjectOptions(command))));
}

async function set(
  given: readonly string[],
  options: SetOptions,
  context: CommandContext,
): Promise<number> {
  const limiter = nameOf(options);
  const change = { limits: readNumbers(given), shadow: readShadow(options.shadow) };
  if (change.limits === undefined && change.shadow === undefined) {
    throw new CommandError(
      "say what to set: LIMIT.limit=NUMBER, as in 100-per-1m.limit=500, or --shadow on",
    );
  }
  const duration = readEnd(options);
  return onOverrides("set", options, context, async (session, known, subject) => {
    const override: NewOverride = { limiter, ...subject, ...change };
    requireCompatible(known, override);
    return taskOf(override, async () => {
      const { store, timeoutMs } = session.connection;
      const reach = overrideCoverageOf(override, await readRegistry(store, { timeout: timeoutMs }));
      const logged = { for: duration, ...loggedOf(options) };
      return { ...(await session.operator.setOverride(override, logged)), reach };
    });
  });
}

async function unset(options: Options, context: CommandContext): Promise<number> {
  const limiter = nameOf(options);
  return onOverrides("unset", options, context, async (session, _, subject) => {
    const place = { limiter, ...subject };
    return taskOf(place, () => session.operator.unsetOverride(place, loggedOf(options)));
  });
}

/** Acts on the override of a limiter, or on those of the subjects that are meant. */
async function onOverrides(
  action: string,
  options: Options,
  context: CommandContext,
  makeTask: (
    session: Session,
    known: readonly LimiterVersion[],
    subject: { readonly subject?: Subject },
  ) => Promise<Task>,
): Promise<number> {
  const { subject, ip, header, dryRun, yes } = options;
  const isForAll = subject === undefined && ip === undefined && header === undefined;
  return withSession(options, context, async (session) => {
    const isNeeded = action === "set" || !isForAll;
    const known = isNeeded ? await findLimiters(session.connection, options, context) : [];
    const subjects = isForAll ? [{}] : await subjectsIn(known, options, context);
    const tasks: Task[] = [];
    for (const one of subjects) tasks.push(await makeTask(session, known, one));
    if ((isForAll || tasks.length > 1) && dryRun !== true) {
      await confirm(`${action}: ${tasks.map(({ name }) => name).join("; ")}`, yes, context);
    }
    return workOff(action, tasks, options, context);
  });
}

async function subjectsIn(
  known: readonly LimiterVersion[],
  options: Options,
  context: CommandContext,
): Promise<readonly { readonly subject: Subject }[]> {
  const given = await readSubject(undefined, options, context);
  const { made, skipped } = await makeAllSubjects(known, given);
  if (skipped.length > 0) throw nothingFits(skipped.slice(0, 1));
  return [...new Map(made.map(([, subject]) => [JSON.stringify(subject), { subject }])).values()];
}

function taskOf(
  { limiter, subject }: Pick<NewOverride, "limiter" | "subject">,
  act: Task["act"],
): Task {
  return {
    limiter,
    name: `${limiter}, ${formatSubject(subject)}`,
    act,
    format: (override) =>
      override === undefined ? ["no override"] : [describeOverride(override as Override)],
  };
}

function nameOf({ limiter }: LimiterOptions): string {
  if (limiter !== undefined) return limiter;
  throw new CommandError("an override is of one limiter: give --limiter NAME");
}

/** By the name of a limit, which may have dots in it. */
function readNumbers(given: readonly string[]): NewOverride["limits"] {
  if (given.length === 0) return undefined;
  const limits: Record<string, Record<string, number>> = {};
  for (const one of given) {
    const [, name, what, number] = /^(.+)\.(\w+)=(\d{1,15})$/s.exec(one) ?? [];
    if (name === undefined || what === undefined) {
      throw new CommandError(
        `write LIMIT.NUMBER=VALUE, as in 100-per-1m.limit=500, got ${JSON.stringify(one)}`,
      );
    }
    limits[name] = { ...limits[name], [what]: Number(number) };
  }
  return limits as Record<string, LimitOverride>;
}

function readShadow(shadow: string | undefined): boolean | undefined {
  if (shadow === undefined || shadow === "on" || shadow === "off")
    return shadow === undefined ? undefined : shadow === "on";
  throw new CommandError(`--shadow must be on or off, got ${JSON.stringify(shadow)}`);
}
