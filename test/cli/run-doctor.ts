import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Finding } from "../../packages/cli/src/doctor/finding.ts";
import type { DoctorReport } from "../../packages/cli/src/doctor/report.ts";
import { onPath } from "../support/redis-binary.ts";
import { expectDocument } from "./json-schema.ts";
import { runCli } from "./run-cli.ts";

/** The result of `headgate doctor --json`. */
export interface DoctorRun {
  readonly exitCode: number;
  readonly report: DoctorReport;
  /** The status of each check: `eviction` is `warning`. */
  readonly statuses: Readonly<Record<string, string>>;
  /** The worst finding of a check, with its servers. */
  worst(name: string): Finding & { readonly servers: readonly string[] };
}

/** Runs `headgate doctor` on a server with a store timeout that a busy machine does not exceed. */
export async function runDoctor(redis: string, ...args: readonly string[]): Promise<DoctorRun> {
  const given = ["--redis", redis, "--store-timeout", "10s", "--json", ...args];
  const { exitCode, stdout, stderr } = await runCli(["doctor", ...given]);
  if (stdout === "") throw new Error(stderr);
  const report = expectDocument("doctor", stdout) as DoctorReport;
  const statuses = Object.fromEntries(report.checks.map(({ name, status }) => [name, status]));
  return {
    exitCode,
    report,
    statuses,
    worst(name) {
      const finding = report.checks.find((check) => check.name === name)?.findings[0];
      if (finding === undefined) throw new Error(`there is no check ${name}`);
      return finding;
    },
  };
}

/** Runs printed commands in a shell. */
export async function paste(commands: readonly string[] | undefined): Promise<void> {
  const client = onPath("redis-cli") ?? onPath("valkey-cli");
  if (client === undefined || commands === undefined) throw new Error("there is nothing to paste");
  for (const command of commands) {
    const { stdout } = await promisify(execFile)("sh", [
      "-c",
      command.replace("redis-cli", client),
    ]);
    if (/^(ERR|NO|WRONG|BUSY|OOM)/.test(stdout)) throw new Error(`${command}: ${stdout}`);
  }
}

/** The checks whose status is neither `ok` nor `note`. */
export function issuesOf({ statuses }: DoctorRun): readonly string[] {
  return Object.keys(statuses).filter((name) => !["ok", "note"].includes(statuses[name] as string));
}
