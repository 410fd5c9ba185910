import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");

/** The folders of the workspace that have each version of Nest. Version 10 is tested with `HEADGATE_LONG=1` only. */
const VERSIONS = [
  ...(process.env["HEADGATE_LONG"] === "1" ? [[10, "test/nest10"] as const] : []),
  [11, "test/nest11"],
  [12, "."],
] as const;

const NEEDED = ["@nestjs", "reflect-metadata", "rxjs"];

/** Creates a place outside the workspace with the built packages, and Nest and its platforms as a folder has them. */
function placeWith(folder: string): string {
  const dir = mkdtempSync(join(tmpdir(), "headgate-nest-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const modules = join(dir, "node_modules");
  mkdirSync(join(modules, "@headgate"), { recursive: true });
  for (const name of NEEDED) {
    symlinkSync(join(ROOT, folder, "node_modules", name), join(modules, name));
  }
  for (const name of ["core", "nestjs"]) {
    for (const part of ["package.json", "dist"]) {
      const place = join(modules, "@headgate", name, part);
      mkdirSync(dirname(place), { recursive: true });
      cpSync(join(ROOT, "packages", name, part), place, { recursive: true });
    }
  }
  // Core's own dependencies.
  for (const name of readdirSync(join(ROOT, "packages/core/node_modules"))) {
    if (name.startsWith(".") || name.startsWith("@")) continue;
    symlinkSync(join(ROOT, "packages/core/node_modules", name), join(modules, name));
  }
  cpSync(join(import.meta.dirname, "application.cjs"), join(dir, "application.cjs"));
  return dir;
}

test.each(
  VERSIONS.flatMap((version) => [
    [...version, "express"] as const,
    [...version, "fastify"] as const,
  ]),
)(
  "a CommonJS application of Nest %i (%s) is limited on %s, and its process ends after close()",
  async (major, folder, platform) => {
    const dir = placeWith(folder);
    const env = { ...process.env, NODE_OPTIONS: "" };
    const options = { env, cwd: dir, timeout: 110_000 };
    const args = [join(dir, "application.cjs"), platform];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, options);
    expect(JSON.parse(stdout)).toEqual({
      version: expect.stringMatching(new RegExp(`^${major}\\.`)),
      home: [200, 200, 200, 429],
      search: [200, 429],
      health: [200, 200, 200, 200],
      denied: "application/problem+json",
    });
    expect(stderr).toBe("");
  },
);
