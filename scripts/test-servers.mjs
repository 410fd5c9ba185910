// Runs the suites that depend on the server on each server whose program is named, one after another, and then the faults.
//
//   npx -y pnpm@10.34.9 test:servers /usr/bin/redis-server /opt/valkey-9/valkey-server
//
// A program of another system, such as one unpacked from a package, needs a script in its place that starts it with its own libraries.
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/** Folders of `test` whose results depend on what the server does. */
const FOLDERS = ["redis", "conformance", "usage", "overrides", "registry", "lease", "cluster"];
const PROJECTS = ["alone", "integration", "built"];

const servers = process.argv.slice(2).filter((arg) => arg !== "--");
if (servers.length === 0) {
  console.error("usage: pnpm test:servers PATH_OF_A_SERVER...");
  process.exit(2);
}

const results = servers.map((server) => {
  const env = { ...process.env, HEADGATE_REDIS_SERVER: server };
  const vitest = (...args) =>
    spawnSync(process.execPath, [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", ...args], {
      cwd: ROOT,
      env,
      stdio: "inherit",
    }).status;
  const version = execFileSync(server, ["--version"], { encoding: "utf8" }).trim();
  console.log(`--- ${version} (${server})`);
  const suites = FOLDERS.map((folder) => `test/${folder}/`);
  const passed = vitest(...PROJECTS.flatMap((name) => ["--project", name]), ...suites) === 0;
  env.HEADGATE_FAULT_ROUNDS ??= "1";
  const survived = vitest("--project", "faults", "--maxWorkers=2") === 0;
  return { version, passed, survived };
});

const word = (isGood) => (isGood ? "passed" : "FAILED");
for (const { version, passed, survived } of results) {
  console.log(`${version}: suites ${word(passed)}, faults ${word(survived)}`);
}
if (results.some(({ passed, survived }) => !(passed && survived))) process.exit(1);
