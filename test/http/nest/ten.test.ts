import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const TEN = join(ROOT, "test/nest10/node_modules");

/** A place where Nest is of version 10. */
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "headgate-nest10-"));
  const modules = join(dir, "node_modules");
  mkdirSync(join(modules, "@headgate"), { recursive: true });
  for (const name of readdirSync(TEN)) {
    if (name.startsWith(".")) continue;
    symlinkSync(join(TEN, name), join(modules, name));
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
  cpSync(join(import.meta.dirname, "ten.cjs"), join(dir, "ten.cjs"));
});
afterAll(() => rmSync(dir, { recursive: true }));

test.each(["express", "fastify"])(
  "Nest 10 on %s is limited in the same way, and its process ends after close()",
  async (platform) => {
    const env = { ...process.env, NODE_OPTIONS: "" };
    const program = join(dir, "ten.cjs");
    const options = { env, cwd: dir, timeout: 50_000 };
    const { stdout } = await promisify(execFile)(process.execPath, [program, platform], options);
    expect(JSON.parse(stdout)).toEqual({
      version: expect.stringMatching(/^10\./),
      home: [200, 200, 200, 429],
      search: [200, 429],
      health: [200, 200, 200, 200],
      denied: "application/problem+json",
    });
  },
);
