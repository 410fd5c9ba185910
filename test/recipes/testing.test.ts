import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript5";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../docs/markdown.ts";

const jest = createRequire(import.meta.url).resolve("jest/bin/jest");

/** A file of the example as Jest's users compile it, to CommonJS. */
function compile(name: string): string {
  const source = readFileSync(join(ROOT, "examples/testing", name), "utf8");
  return ts
    .transpile(source, {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.CommonJS,
      esModuleInterop: true,
    })
    .replaceAll("./app.ts", "./app.js");
}

/** Jest is slow to start, and Vitest runs the same tests in each run. */
const isLong = process.env["HEADGATE_LONG"] === "1";

test.runIf(isLong)("Jest runs the same tests, without the line that imports from vitest", () => {
  const dir = mkdtempSync(join(tmpdir(), "headgate-jest-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  writeFileSync(join(dir, "package.json"), "{}");
  writeFileSync(join(dir, "app.js"), compile("app.ts"));
  const tests = compile("app.test.ts").replaceAll(/^const vitest_1 = .*$/gm, "");
  writeFileSync(join(dir, "app.test.js"), tests.replaceAll(/\(0, vitest_1\.(\w+)\)/g, "$1"));
  const args = [
    jest,
    "--config",
    '{"testEnvironment":"node","transform":{}}',
    "--no-watchman",
    "--ci",
    "--json",
  ];
  const env = { ...process.env, NODE_OPTIONS: "", NODE_ENV: "test" };
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: dir, env, encoding: "utf8" });
  expect(JSON.parse(stdout || "{}"), stderr).toMatchObject({
    numPassedTests: 6,
    numFailedTests: 0,
  });
});
