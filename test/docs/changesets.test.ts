import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "./markdown.ts";

const PACKAGES = readdirSync(join(ROOT, "packages"));

interface Note {
  readonly packages: readonly string[];
  readonly bumps: readonly string[];
  readonly firstLine: string;
}

const notes = readdirSync(join(ROOT, ".changeset"))
  .filter((file) => file.endsWith(".md"))
  .map((file) => readNote(readFileSync(join(ROOT, ".changeset", file), "utf8")));

function readNote(text: string): Note {
  const [, head = "", firstLine = ""] = /^---\n([\s\S]*?)\n---\n+(.+)/.exec(text) ?? [];
  const lines = [...head.matchAll(/^"@headgate\/(.+)": (.+)$/gm)];
  return {
    packages: lines.map((line) => line[1] as string),
    bumps: lines.map((line) => line[2] as string),
    firstLine,
  };
}

/** Creates a temporary copy in which `changeset version` makes the next release, until the test ends. */
function makeRelease(): string {
  const dir = mkdtempSync(join(tmpdir(), "headgate-release-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const manifests = PACKAGES.map((name) => `packages/${name}/package.json`);
  for (const path of [".changeset", "package.json", "pnpm-workspace.yaml", ...manifests]) {
    cpSync(join(ROOT, path), join(dir, path), { recursive: true });
  }
  execFileSync("git", ["init", "--quiet", dir]);
  const changeset = join(ROOT, "node_modules/@changesets/cli/bin.js");
  execFileSync(process.execPath, [changeset, "version"], { cwd: dir, stdio: "pipe" });
  return dir;
}

test("the release notes make a release with one version for all packages and each note in its changelogs", () => {
  const dir = makeRelease();
  const versionOf = (root: string, name: string): string =>
    JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")).version;

  expect(new Set(PACKAGES.map((name) => versionOf(dir, name))).size).toBe(1);
  for (const name of PACKAGES) {
    const changelog = readFileSync(join(dir, "packages", name, "CHANGELOG.md"), "utf8");
    expect(changelog).toMatch(`# @headgate/${name}\n\n## ${versionOf(dir, name)}\n`);
  }
  for (const { packages, firstLine } of notes) {
    for (const name of packages) {
      const file = join(dir, "packages", name, "CHANGELOG.md");
      expect(existsSync(file) && readFileSync(file, "utf8"), name).toContain(firstLine);
    }
  }
  // A peer dependency between the packages would turn every minor release into a major one.
  if (!notes.some(({ bumps }) => bumps.includes("major"))) {
    const major = (root: string): string => versionOf(root, "core").split(".")[0] as string;
    expect(major(dir)).toBe(major(ROOT));
  }
});
