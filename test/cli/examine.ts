import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Finding } from "../../packages/cli/src/doctor/finding.ts";
import type { DoctorReport } from "../../packages/cli/src/doctor/report.ts";
import { onPath } from "../support/redis-binary.ts";
import { expectDocument } from "./json-schema.ts";
import { runCli } from "./run-cli.ts";

/** What `headgate doctor --json` came to. */
export interface Examined {
  readonly exitCode: number;
  readonly report: DoctorReport;
  /** As `eviction` is `warning`. */
  readonly statuses: Readonly<Record<string, string>>;
  /** The worst of a check's findings, with the servers it is about. */
  worst(name: string): Finding & { readonly servers: readonly string[] };
}

/** Runs `headgate doctor` on a server, with a wait for Redis that a busy machine does not exceed. */
export async function examine(redis: string, ...args: readonly string[]): Promise<Examined> {
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

/** Pastes commands in a shell, as they were printed. */
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

/** Those that are neither in order nor merely to be noted. */
export function faultsOf({ statuses }: Examined): readonly string[] {
  return Object.keys(statuses).filter((name) => !["ok", "note"].includes(statuses[name] as string));
}
