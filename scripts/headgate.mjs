// Builds what is needed, quietly, and runs the command in this process, so that signals and the exit code are its own.
import { join } from "node:path";
import { build } from "./build.mjs";

if (!(await build())) process.exit(1);

await import(join(import.meta.dirname, "../packages/cli/dist/esm/headgate.js"));
