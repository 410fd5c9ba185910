// Checks everything from a clean build, then packs the packages into release/, as they will be published, each with its bill of
// materials.
import { execSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

const { repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
if (repository === undefined) {
  console.error(
    "package.json has no repository: npm takes no statement of where packages come from without it.",
  );
  process.exit(1);
}

const run = (command) => execSync(command, { cwd: root, stdio: "inherit" });
rmSync(join(root, "release"), { recursive: true, force: true });
run("git clean -fdxq packages/*/dist");
run("pnpm check");
run(`pnpm -r --filter "./packages/*" pack --pack-destination "${join(root, "release")}"`);
run("node scripts/sbom.mjs release");
