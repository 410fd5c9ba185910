import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../scripts/build.mjs", import.meta.url));

/** Builds once for the suites that run packages and examples as users do; most suites run on the sources. */
export default function setup(): void {
  const { status } = spawnSync(process.execPath, [script], { stdio: ["ignore", 2, 2] });
  if (status !== 0) console.error("The build has errors: what runs on it may be out of date.");
}
