import type { Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError, EXIT } from "../command/command-error.ts";
import { readDuration } from "../command/option-values.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions, connect } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { styleFor } from "../output/style.ts";
import { printConnectionSteps } from "./connection-steps.ts";
import type { Facts, Role } from "./facts/facts.ts";
import { ROLES } from "./facts/facts.ts";
import { gatherFacts } from "./facts/gather-facts.ts";
import { formatReport, runChecks } from "./report.ts";
import { SECTIONS } from "./sections.generated.ts";

interface DoctorOptions extends ConnectionOptions {
  readonly role: string;
  readonly as?: string | undefined;
  readonly storeTimeout: string;
  readonly explain?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Adds `headgate doctor`. */
export function addDoctor({ program, handle, context }: Cli): void {
  const command = program
    .command("doctor")
    .summary("check Redis and the limiters' keys")
    .description(
      "Checks the Redis servers, the permissions of this user, and the keys. Prints the impact of each finding on limits, and how to fix it. Changes nothing. Exits with 1 if there is a warning or a problem. If Redis cannot be reached, prints which step of connecting fails.",
    )
    .option(
      "--role <role>",
      "check the permissions for this role: application, reader or operator",
      "application",
    )
    .option("--as <user>", "check the permissions of this Redis user (default: the connected one)")
    .option("--store-timeout <time>", "how long the application's limiters wait for Redis", "100ms")
    .option("--explain <check>", "print what a check reads, its impact and how to fix it")
    .option("--json", "print one JSON document");
  addExamples(addConnectionOptions(command), {
    "headgate doctor --redis-file ~/.headgate": "check everything",
    "headgate doctor --as shop": "which permissions the Redis user shop lacks",
    "headgate doctor --json | jq '.checks[] | select(.status == \"problem\")'": "only the problems",
  });
  command.action(handle((options: DoctorOptions) => runDoctor(options, context)));
}

async function runDoctor(options: DoctorOptions, context: CommandContext): Promise<number> {
  if (options.explain !== undefined) {
    context.stdout.write(readSection(options.explain));
    return 0;
  }
  const role = readRole(options.role);
  const storeTimeoutMs = readDuration("--store-timeout", options.storeTimeout, "1ms", "1m");
  const connection = await connect(options, context).catch(async (failure: unknown) => {
    await printConnectionSteps(failure, options, context);
    throw failure;
  });
  try {
    const facts = await gatherFacts(connection, { role, aclUser: options.as, storeTimeoutMs });
    // An interruption closes the connection, so facts gathered afterwards are errors of the closed client.
    context.signal.throwIfAborted();
    if (facts.servers.length === 0) throw noServerError(connection.displayUrl, facts);
    const report = runChecks(connection.displayUrl, facts);
    const { stdout, environment } = context;
    if (options.json) writeJson(stdout, report);
    else stdout.write(formatReport(report, styleFor(stdout, environment)));
    return report.counts.warning + report.counts.problem > 0 ? EXIT.found : 0;
  } finally {
    await connection.close();
  }
}

function noServerError(url: string, { unreachable: [first] }: Facts): CommandError {
  return new CommandError(`${url} does not answer: ${first?.reason}`, EXIT.store);
}

/** The section of docs/how-to/doctor.md about a check. */
function readSection(check: string): string {
  const section = Object.hasOwn(SECTIONS, check) ? SECTIONS[check] : undefined;
  if (section !== undefined) return `${check}\n\n${section}\n`;
  throw new CommandError(
    `--explain takes one of ${Object.keys(SECTIONS).join(", ")}, got ${check}`,
  );
}

function readRole(role: string): Role {
  if (Object.hasOwn(ROLES, role)) return role as Role;
  throw new CommandError(`--role must be ${Object.keys(ROLES).join(", ")}, got ${role}`);
}
