import type { Duration } from "@headgate/core";
import type {
  Admin,
  Inspection,
  LimiterVersion,
  ActionOptions as Logged,
  SubjectQuery,
} from "@headgate/core/admin";
import { formatBlockImpact } from "@headgate/core/admin";
import { subjectOfMissingKey } from "@headgate/core/http";
import { pluralize } from "@headgate/replay/internal";
import type { Command } from "commander";
import type { AddCommand, Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { readDuration } from "../command/option-values.ts";
import type { ConnectionOptions, Session } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { formatSubjectLabel } from "../output/policy.ts";
import type { ActionOptions, SkippedLimiter, Task, TaskResult } from "./action.ts";
import {
  addActionOptions,
  confirm,
  logOptionsOf,
  readUsageForPreview,
  runTasks,
} from "./action.ts";
import { formatInspection, formatOverrideLine } from "./inspection.ts";
import type { LimiterSubject, SelectionOptions, Subject } from "./selection.ts";
import {
  addSelectionOptions,
  findLimiters,
  makeSubjects,
  noSubjectError,
  readSubjectQuery,
} from "./selection.ts";

type Options = ConnectionOptions & SelectionOptions & ActionOptions & { readonly all?: boolean };

type Target = readonly [limiter: LimiterVersion["limiter"], subject: Subject, logged: Logged];

/** An action on a subject of a limiter. */
interface SubjectAction {
  /** The verb of a sentence such as `This would block 203.0.113.7 in api`. */
  readonly name: string;
  /** Whether the action covers all limiters if none is named. */
  readonly defaultsToAllLimiters?: boolean;
  readonly blockDuration?: string;
  act(operator: Admin, ...target: Target): Promise<TaskResult>;
  /** Whom the action would affect. */
  preview?(session: Session, limiter: string, subject: Subject): Promise<readonly string[]>;
}

export const addReset: AddCommand = (cli) => {
  const command = cli.program
    .command("reset [subject]")
    .summary("reset the usage of a subject, so that it has its whole limit again")
    .description("Resets the usage of a subject, and removes any block that a limit has set.");
  addExamples(command, {
    "headgate reset ada --limiter api --reason 'our mistake'":
      "in one limiter, with a reason for the log",
    "headgate reset --ip 203.0.113.7 --all --dry-run": "show what would change, and change nothing",
  });
  addSubjectAction(cli, command, {
    name: "reset",
    act: (admin, ...target) => admin.reset(...target),
  });
};

export const addUnblock: AddCommand = (cli) => {
  const command = cli.program
    .command("unblock [subject]")
    .summary("lift the blocks of a subject")
    .description("Lifts the blocks of a subject. Its usage stays as it is.");
  addExamples(command, {
    "headgate unblock ada --limiter api": "in one limiter",
    "headgate unblock --ip 203.0.113.7 --all --yes": "in all limiters, without confirmation",
  });
  addSubjectAction(cli, command, {
    name: "unblock",
    act: (admin, ...target) => admin.unblock(...target),
  });
};

export const addForget: AddCommand = (cli) => {
  const command = cli.program
    .command("forget [subject]")
    .summary("erase a subject: counters, blocks, overrides, usage, its name in the log")
    .description(
      "Erases the counters, blocks, overrides and usage of a subject, and its name in the log; in every limiter, unless one is named.",
    );
  addExamples(command, {
    "headgate forget ada": "in every limiter, after confirmation",
    "headgate forget ada --dry-run": "show what would be erased",
  });
  addSubjectAction(cli, command, {
    name: "forget",
    defaultsToAllLimiters: true,
    async act(admin, ...target) {
      const forgotten = await admin.forget(...target);
      const { overrides, redactedLogEntries, clearedLists } = forgotten;
      const isDry = target[2].dryRun === true;
      const [removed, taken] = isDry
        ? ["override to be removed", "would be removed"]
        : ["override removed", "removed"];
      const notes = overrides.map((override) => `${removed}: ${formatOverrideLine(override)}`);
      if (redactedLogEntries > 0) {
        const entries = pluralize(redactedLogEntries, "log entry", "log entries");
        notes.push(`name ${taken} from ${entries}`);
      }
      if (clearedLists > 0) {
        notes.push(`name ${taken} from ${pluralize(clearedLists, "usage list")}`);
      }
      return { ...forgotten, notes };
    },
  });
};

export const addBlock: AddCommand = (cli) => {
  const command = cli.program
    .command("block <subject-or-duration> [duration]")
    .usage("[options] [subject] <duration>")
    .summary("deny all requests of a subject for a time")
    .description("Denies all requests of a subject for a time, such as 10m, 1h or 7d.");
  addExamples(command, {
    "headgate block --ip 203.0.113.7 1h --limiter api --reason flood": "for an hour",
    "headgate block ada 7d --all": "in every limiter, after confirmation",
  });
  addSubjectOptions(command).action(
    cli.handle((first: string, second: string | undefined, options: Options) => {
      const [subject, duration] = second === undefined ? [undefined, first] : [first, second];
      readDuration("the duration of block", duration, "1ms", "366d");
      const action: SubjectAction = {
        name: `block for ${duration}`,
        blockDuration: duration,
        act: (admin, limiter, blocked, logged) =>
          admin.block(limiter, blocked, duration as Duration, logged),
        preview: async (session, limiter, blocked) => [
          formatBlockImpact(await readUsageForPreview(session, limiter), limiter, blocked),
        ],
      };
      return actOnSubject(action, subject, options, cli.context);
    }),
  );
};

function addSubjectAction(cli: Cli, command: Command, action: SubjectAction): void {
  addSubjectOptions(command).action(
    cli.handle((subject: string | undefined, options: Options) =>
      actOnSubject(action, subject, options, cli.context),
    ),
  );
}

function addSubjectOptions(command: Command): Command {
  addConnectionOptions(addSelectionOptions(command));
  return addActionOptions(command.option("--all", "in every limiter in the registry"));
}

async function actOnSubject(
  action: SubjectAction,
  text: string | undefined,
  options: Options,
  context: CommandContext,
): Promise<number> {
  const { limiter, all, dryRun, yes, json = false } = options;
  if (limiter !== undefined && all === true)
    throw new CommandError("give --limiter NAME or --all, not both");
  if (limiter === undefined && all !== true && action.defaultsToAllLimiters !== true) {
    throw new CommandError("give --limiter NAME, or --all for every limiter in the registry");
  }
  return withSession(options, context, async (session) => {
    const query = await readSubjectQuery(text, options, context);
    const known = await findLimiters(session, options, context);
    const { limiterSubjects, ...made } = await makeSubjects(known, query);
    const skipped = [...made.skipped, ...findMissingKeys(limiterSubjects, query)].sort(
      ({ limiter: a }, { limiter: b }) => Number(a > b) - Number(a < b),
    );
    const tasks = new Map<string, Task>();
    for (const [{ limiter: target, counterIdentity }, subject] of limiterSubjects) {
      // Policies that differ only in their numbers share their counters.
      const id = JSON.stringify([target.name, counterIdentity, subject]);
      if (tasks.has(id)) continue;
      tasks.set(id, {
        limiter: target.name,
        name: `${target.name}, ${formatSubjectLabel(subject)}`,
        run: async () => {
          const result = await action.act(session.admin, target, subject, logOptionsOf(options));
          if (dryRun !== true || action.preview === undefined) return result;
          const notes = await action.preview(session, target.name, subject);
          return { ...result, notes: [...(result.notes ?? []), ...notes] };
        },
        format: (state) => formatInspection(state as Inspection, session.now()),
      });
    }
    if (tasks.size === 0) throw noSubjectError(skipped);
    const names = new Set([...tasks.values()].map(({ name }) => name));
    if (names.size > 1 && dryRun !== true) {
      await confirm(`${action.name}: ${[...names].join("; ")}`, yes, context);
    }
    const exitCode = await runTasks(action.name, [...tasks.values()], options, context, skipped);
    if (
      skipped.length > 0 &&
      action.blockDuration !== undefined &&
      query.ip !== undefined &&
      !json
    ) {
      context.stdout.write(
        `to deny the address in every limiter: headgate deny-list add ${query.ip} --for ${action.blockDuration}\n`,
      );
    }
    return exitCode;
  });
}

/** The limiters in which a subject is only that of requests without the key, which count by their address. */
function findMissingKeys(
  limiterSubjects: readonly LimiterSubject[],
  { ip }: SubjectQuery,
): readonly SkippedLimiter[] {
  if (ip === undefined) return [];
  const missing = subjectOfMissingKey(ip);
  return limiterSubjects.flatMap(([{ limiter }, subject]) => {
    const keys = Object.keys(subject).filter((dimension) => subject[dimension] === missing);
    if (keys.length === 0) return [];
    const reason = `counts by ${keys.join(", ")}: the action covers only its requests without that key`;
    return [{ limiter: limiter.name, reason }];
  });
}
