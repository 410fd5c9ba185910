// Builds what is needed, quietly, and runs examples/demo in this process, so that signals and the exit code are its own.
import { build } from "./build.mjs";

if (!(await build())) process.exit(1);

// pnpm hands on the `--` that npm would swallow.
process.argv = process.argv.filter((arg) => arg !== "--");
await import("../examples/demo/main.mjs");
