// Builds what is needed, quietly, and runs examples/access-log in this process, so that signals and the exit code are its own.
import { join } from "node:path";
import { build } from "./build.mjs";

if (!(await build("examples/access-log"))) process.exit(1);

const entry = join(import.meta.dirname, "../examples/access-log/dist/start.js");
// pnpm hands on the `--` that npm would swallow.
process.argv = [process.argv[0], entry, ...process.argv.slice(2).filter((arg) => arg !== "--")];
await import(entry);
