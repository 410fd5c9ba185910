import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "vitest";

const root = join(import.meta.dirname, "../..");

/** Runs one of the workspace's tools, and fails with its output if its exit code is not 0. */
export function runTool(tool: string, args: readonly string[], cwd: string = root): void {
  const file = join(root, "node_modules", tool);
  expectSuccess(spawnSync(file, args, { cwd, encoding: "utf8", timeout: 170_000 }));
}

/** The output is part of the comparison, so that a failure shows it. */
export function expectSuccess(result: {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}): void {
  const output = result.status === 0 ? "" : result.stdout + result.stderr;
  expect({ status: result.status, output }).toEqual({ status: 0, output: "" });
}
