import { HeadgateError } from "@headgate/core";
import type { Admin, Override, OverrideCoverage, RegistryLimiter } from "@headgate/core/admin";
import {
  explainVersions,
  formatOverride,
  overrideCoverageOf,
  policyVersionsOf,
  readRegistry,
} from "@headgate/core/admin";
// biome-ignore lint/style/noRestrictedImports: groups as core does
import { groupBy } from "@headgate/core/internal";
import { escapeHidden, formatFromNow } from "@headgate/replay/internal";
import type { Cli, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { explainError } from "../connect/explain-error.ts";
import { writeJson } from "../output/json.ts";
import {
  formatCoverage,
  formatShortLimit,
  formatSubjectLabel,
  withTimesInMs,
} from "../output/policy.ts";
import type { Style } from "../output/style.ts";
import { printSection, styleFor } from "../output/style.ts";
import type { Cell, Column } from "../output/table.ts";
import { writeTables } from "../output/table.ts";
import { formatTime } from "../output/time.ts";
import { PROCESS_COLUMNS, processRow, warnNothingListed, warnUnread } from "./registry.ts";

/** The versions of the policy of each limiter, by its name. */
type Versions = ReadonlyMap<string, readonly RegistryLimiter[]>;

interface LimitersOptions extends ConnectionOptions {
  readonly processes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** Adds `headgate limiters`, which lists limiters with their limits, processes and overrides. */
export function addLimiters({ program, context, handle }: Cli): void {
  const command = program
    .command("limiters")
    .summary("list the limiters, their limits and overrides")
    .description(
      "Lists the limiters of the processes on this Redis and prefix with their limits, and the overrides with the processes that apply them. A process appears ten seconds after its start.",
    )
    .option(
      "--processes",
      "also list the processes, and why they have several versions of a policy",
    )
    .option("--json", "print one JSON document");
  addExamples(addConnectionOptions(command), {
    "headgate limiters": "on the Redis of $REDIS_URL",
    "headgate limiters --redis redis://10.0.0.7:6379 --prefix shop": "on another Redis",
    "headgate limiters --json | jq '.limiters[] | select(.hasOtherVersions)'":
      "limiters whose processes have different policies, as during a deployment",
  });
  command.action(handle((options: LimitersOptions) => listLimiters(options, context)));
}

function listLimiters(options: LimitersOptions, context: CommandContext): Promise<number> {
  return withSession(options, context, async (session) => {
    const { store, prefix, timeoutMs } = session;
    const now = session.now();
    const { stdout, stderr } = context;
    const registry = await readRegistry(store, { timeout: timeoutMs });
    const { limiters, processes, unreadable } = registry;
    const overrides = await readOverrides(session.admin);
    if (typeof overrides === "string") {
      stderr.write(`headgate: warning: cannot read the overrides: ${escapeHidden(overrides)}\n`);
    }
    warnUnread(stderr, unreadable);
    const withCoverage =
      typeof overrides === "string"
        ? null
        : overrides.map((one) => ({ ...one, coverage: overrideCoverageOf(one, registry) }));
    if (options.json) {
      writeJson(stdout, { limiters, overrides: withCoverage, processes, unreadable });
      return 0;
    }
    if (limiters.length === 0) {
      warnNothingListed(stderr, "limiter", prefix);
    }
    const style = styleFor(stdout, context.environment);
    const versions = groupBy(policyVersionsOf(registry), ({ name }) => name);
    writeTables(
      stdout,
      [
        LIMITER_COLUMNS,
        [...versions.values()].flatMap((of) =>
          of.map((one, i) => limiterRow(one, i, of.length, style)),
        ),
      ],
      [OVERRIDE_COLUMNS, (withCoverage ?? []).map((one) => overrideRow(one, now, style))],
      options.processes
        ? [
            [...PROCESS_COLUMNS, { head: "LIMITERS", wraps: true }],
            processes.map((one) => [...processRow(one, now), formatLimitersOf(one.id, versions)]),
          ]
        : [[], []],
    );
    if (options.processes === true) {
      for (const [name, of] of versions) {
        if (of.length > 1) {
          stdout.write("\n");
          printSection(
            context,
            `${name} has ${of.length} versions`,
            explainVersions(of, processes),
          );
        }
      }
    }
    return 0;
  });
}

/** The limiters of a process, with the version of their policy if there are several: `login, orders (version B)`. */
function formatLimitersOf(process: string, versions: Versions): string {
  return [...versions]
    .flatMap(([name, of]) =>
      of.flatMap(({ processes }, i) => {
        if (!processes.includes(process)) return [];
        return of.length === 1 ? name : `${name} (version ${letterOf(i)})`;
      }),
    )
    .join(", ");
}

/** The name of a version, as on the dashboard: A, B, C. */
function letterOf(version: number): string {
  return String.fromCharCode(65 + version);
}

const LIMITER_COLUMNS: readonly Column[] = [
  { head: "LIMITER" },
  { head: "LIMITS", wraps: true },
  { head: "PROCESSES", align: "right" },
  { head: "NOTES", wraps: true },
];

function limiterRow(
  limiter: RegistryLimiter,
  version: number,
  versions: number,
  style: Style,
): readonly Cell[] {
  return [
    limiter.name,
    limiter.isTruncated
      ? "(too long for the registry)"
      : limiter.limits.map(formatShortLimit).join("; "),
    String(limiter.processes.length),
    { text: notesOf(limiter, version, versions), style: (shown) => style("yellow", shown) },
  ];
}

function notesOf(limiter: RegistryLimiter, version: number, versions: number): string {
  const {
    shadow,
    extends: other,
    blockOn,
    perCallPolicies = [],
    morePerCallPolicies = 0,
  } = limiter;
  const shapes = perCallPolicies.length + morePerCallPolicies;
  const notes = [
    versions > 1 ? `version ${letterOf(version)} of ${versions}` : "",
    shadow ? "in shadow mode" : "",
    other === undefined ? "" : `extends ${other}`,
    blockOn === "settle" ? "blocks by settled charges only" : "",
    shapes === 0
      ? ""
      : `calls bring ${shapes} other ${shapes === 1 ? "shape" : "shapes"} of limits`,
  ];
  return notes.filter((note) => note !== "").join(", ");
}

const OVERRIDE_COLUMNS: readonly Column[] = [
  { head: "OVERRIDE OF" },
  { head: "SUBJECT" },
  { head: "SETS", wraps: true },
  { head: "ENDS", wraps: true },
  { head: "IN FORCE", wraps: true },
];

function overrideRow(
  override: Override & { readonly coverage: OverrideCoverage },
  now: number,
  style: Style,
): readonly Cell[] {
  return [
    override.limiter,
    formatSubjectLabel(override.subject),
    formatOverride(override),
    endOf(override, now),
    {
      text: formatCoverage(override.coverage),
      style: (shown) => style(override.coverage.state === "in-force" ? "yellow" : "red", shown),
    },
  ];
}

function endOf({ until }: Override, now: number): string {
  return until === null
    ? "when it is removed"
    : `${formatTime(until)} (${formatFromNow(until, now)})`;
}

/** Errors that prevent reading the overrides only. */
const NON_FATAL_CODES: readonly string[] = [
  "HEADGATE_STORE_MISCONFIGURED",
  "HEADGATE_CONTROL_CORRUPT",
  "HEADGATE_WRONG_TYPE",
];

/**
 * Reads the overrides that have not expired, with times in milliseconds since the epoch, by the server's clock. Resolves with the reason
 * if they cannot be read. Rejects if the store does not answer.
 */
export async function readOverrides(admin: Admin): Promise<readonly Override[] | string> {
  try {
    const { overrides } = await admin.readControl();
    return overrides.map(withTimesInMs);
  } catch (error) {
    if (!(error instanceof HeadgateError && NON_FATAL_CODES.includes(error.code))) throw error;
    return error.cause === undefined ? error.message : explainError(error.cause);
  }
}
