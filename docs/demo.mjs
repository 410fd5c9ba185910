// Writes public/demo/, which the site serves as /demo/: the dashboard with a recording in place of a server.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "public/demo");
const script = join(import.meta.dirname, "../scripts/build-demo.mjs");

// Names of files change with what is in them, so that old ones would stay.
rmSync(folder, { recursive: true, force: true });
// As a process: the types of this folder's programs are checked, and those of the scripts are not.
execFileSync(process.execPath, [script, folder], { stdio: "inherit" });
