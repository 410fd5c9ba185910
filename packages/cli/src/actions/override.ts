import type { LimiterVersion, LimitOverride, NewOverride, Override } from "@headgate/core/admin";
import {
  formatOverrideImpact,
  overrideCoverageOf,
  readRegistry,
  requireCompatible,
} from "@headgate/core/admin";
import type { Command } from "commander";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { readExpiry } from "../command/option-values.ts";
import type { ConnectionOptions, Session } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { formatSubjectLabel } from "../output/policy.ts";
import type { ActionOptions, Task } from "./action.ts";
import {
  addActionOptions,
  confirm,
  logOptionsOf,
  readUsageForPreview,
  runTasks,
} from "./action.ts";
import { formatOverrideLine } from "./inspection.ts";
import type { SelectionOptions, Subject } from "./selection.ts";
import {
  addSelectionOptions,
  findLimiters,
  makeSubjects,
  noSubjectError,
  readSubjectQuery,
} from "./selection.ts";

type Options = ConnectionOptions & SelectionOptions & ActionOptions;

type SetOptions = Options & {
  readonly shadow?: string | undefined;
  readonly for?: string | undefined;
  readonly forever?: boolean | undefined;
};

export const addSet: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("set [numbers...]")
    .usage("[options] [limit.number=value...]")
    .summary("override the limits of a limiter, or put it in shadow mode")
    .description(
      "Overrides the limits of a limiter or of one of its subjects, or puts it in shadow mode. NUMBER is the limit, burst, capacity or refill of a limit. A new override replaces the previous one.",
    );
  addExamples(command, {
    "headgate set --limiter api 100-per-1m.limit=500 --for 2h": "for all subjects",
    "headgate set --subject ada --limiter api 100-per-1m.limit=500": "for one subject, for a day",
    "headgate set --limiter api --shadow on --for 1h": "count, and deny no requests",
  });
  addOverrideOptions(command)
    .option("--shadow <on|off>", "deny no requests (on), or enforce the limits (off)")
    .option("--for <duration>", "how long, such as 30m, 2h or 7d (default: 1d)")
    .option("--forever", "until it is removed")
    .action(handle((numbers: string[], options: SetOptions) => set(numbers, options, context)));
};

export const addUnset: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("unset")
    .summary("remove an override")
    .description("Removes the override of a limiter, or of one of its subjects.");
  addExamples(command, {
    "headgate unset --limiter api": "the override for all subjects",
    "headgate unset --limiter api --ip 203.0.113.7": "the override for one subject",
  });
  addOverrideOptions(command).action(handle((options: Options) => unset(options, context)));
};

function addOverrideOptions(command: Command): Command {
  return addActionOptions(addConnectionOptions(addSelectionOptions(command)));
}

async function set(
  numbers: readonly string[],
  options: SetOptions,
  context: CommandContext,
): Promise<number> {
  const limiter = requireLimiterName(options);
  const change = { limits: parseNumbers(numbers), shadow: parseShadow(options.shadow) };
  if (change.limits === undefined && change.shadow === undefined) {
    throw new CommandError("give LIMIT.limit=NUMBER, as in 100-per-1m.limit=500, or --shadow on");
  }
  const duration = readExpiry(options);
  return changeOverrides("set", options, context, async (session, known, subject) => {
    const override: NewOverride = { limiter, ...subject, ...change };
    requireCompatible(known, override);
    return taskOf(override, async () => {
      const { store, timeoutMs } = session;
      const coverage = overrideCoverageOf(
        override,
        await readRegistry(store, { timeout: timeoutMs }),
      );
      const logged = { for: duration, ...logOptionsOf(options) };
      const result = { ...(await session.admin.setOverride(override, logged)), coverage };
      if (options.dryRun !== true) return result;
      const usage = await readUsageForPreview(session, limiter);
      const policies = known.map((one) => one.limiter.limits);
      const { overrides } = await session.admin.readControl();
      return { ...result, notes: formatOverrideImpact(usage, policies, override, overrides) };
    });
  });
}

async function unset(options: Options, context: CommandContext): Promise<number> {
  const limiter = requireLimiterName(options);
  return changeOverrides("unset", options, context, async (session, _, subject) => {
    const key = { limiter, ...subject };
    return taskOf(key, () => session.admin.unsetOverride(key, logOptionsOf(options)));
  });
}

/** Changes the override of a limiter, or those of the given subjects. */
async function changeOverrides(
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
  const isForAllSubjects = subject === undefined && ip === undefined && header === undefined;
  return withSession(options, context, async (session) => {
    const needsLimiters = action === "set" || !isForAllSubjects;
    const known = needsLimiters ? await findLimiters(session, options, context) : [];
    const subjects = isForAllSubjects ? [{}] : await readSubjects(known, options, context);
    const tasks: Task[] = [];
    for (const one of subjects) tasks.push(await makeTask(session, known, one));
    if ((isForAllSubjects || tasks.length > 1) && dryRun !== true) {
      await confirm(`${action}: ${tasks.map(({ name }) => name).join("; ")}`, yes, context);
    }
    return runTasks(action, tasks, options, context);
  });
}

async function readSubjects(
  known: readonly LimiterVersion[],
  options: Options,
  context: CommandContext,
): Promise<readonly { readonly subject: Subject }[]> {
  const query = await readSubjectQuery(undefined, options, context);
  const { limiterSubjects, skipped } = await makeSubjects(known, query);
  if (skipped.length > 0) throw noSubjectError(skipped.slice(0, 1));
  return [
    ...new Map(
      limiterSubjects.map(([, subject]) => [JSON.stringify(subject), { subject }]),
    ).values(),
  ];
}

function taskOf(
  { limiter, subject }: Pick<NewOverride, "limiter" | "subject">,
  run: Task["run"],
): Task {
  return {
    limiter,
    name: `${limiter}, ${formatSubjectLabel(subject)}`,
    run,
    format: (override) =>
      override === undefined ? ["no override"] : [formatOverrideLine(override as Override)],
  };
}

function requireLimiterName({ limiter }: SelectionOptions): string {
  if (limiter !== undefined) return limiter;
  throw new CommandError("an override belongs to one limiter: give --limiter NAME");
}

/** Parses `LIMIT.NUMBER=VALUE`. The name of the limit may contain dots. */
function parseNumbers(texts: readonly string[]): NewOverride["limits"] {
  if (texts.length === 0) return undefined;
  const limits: Record<string, Record<string, number>> = {};
  for (const one of texts) {
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

function parseShadow(shadow: string | undefined): boolean | undefined {
  if (shadow === undefined || shadow === "on" || shadow === "off")
    return shadow === undefined ? undefined : shadow === "on";
  throw new CommandError(`--shadow must be on or off, got ${JSON.stringify(shadow)}`);
}
