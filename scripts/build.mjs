// Builds every package as ES modules and as CommonJS, and then the projects named as arguments.
// Nothing goes to stdout: it belongs to what runs next.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const tsc = join(root, "node_modules/typescript/bin/tsc");

/** Builds what has changed since the last time; false if there are errors. */
export function build(...projects) {
  for (const name of readdirSync(join(root, "packages")))
    markCommonJs(join(root, "packages", name));
  const { status } = spawnSync(
    process.execPath,
    [tsc, "-b", join(root, "tsconfig.build.json"), ...projects.map((path) => join(root, path))],
    { stdio: ["ignore", 2, 2] },
  );
  return status === 0;
}

/** Marks this part of a package of ES modules as CommonJS. */
function markCommonJs(dir) {
  if (!existsSync(join(dir, "tsconfig.cjs.json"))) return;
  mkdirSync(join(dir, "dist/cjs"), { recursive: true });
  writeFileSync(join(dir, "dist/cjs/package.json"), '{"type":"commonjs"}\n');
}

if (process.argv[1] === import.meta.filename && !build(...process.argv.slice(2))) process.exit(1);
