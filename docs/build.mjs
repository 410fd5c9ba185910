// Builds the site into .vitepress/dist: the pages of the API and of programs, the recorded dashboard, then all pages. Whatever warns, and a dead
// link, fails it.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const vitepress = dirname(createRequire(import.meta.url).resolve("vitepress/package.json"));

/** @param {...string} args */
function run(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: import.meta.dirname,
    encoding: "utf8",
  });
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  if (status !== 0) process.exit(1);
  return stdout + stderr;
}

run("api.mjs");
run("examples.mjs");
run("demo.mjs");
const said = run(join(vitepress, "bin/vitepress.js"), "build");
if (/warn|not loaded/i.test(said)) {
  console.error("The site was built with warnings.");
  process.exit(1);
}
