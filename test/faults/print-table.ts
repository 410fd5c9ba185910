import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../scripts/fault-table.mjs", import.meta.url));

let since = 0;

export function setup(): void {
  since = Date.now();
}

/** Prints the measurements of the fault suites at the end of a run. */
export function teardown(): void {
  spawnSync(process.execPath, [script, "--since", `${since}`], { stdio: ["ignore", 2, 2] });
}
