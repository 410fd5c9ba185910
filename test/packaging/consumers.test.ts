import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { describe, inject, test } from "vitest";
import { expectSuccess } from "./run-tool.ts";

const jest = createRequire(import.meta.url).resolve("jest/bin/jest");

/** Runs Node as a consumer would. Our own condition is off: the sources must not be what answers. */
function run(...args: readonly string[]): void {
  const env = { ...process.env, NODE_OPTIONS: "", NODE_ENV: "test" };
  const options = { cwd: inject("consumer"), env, encoding: "utf8", timeout: 55_000 } as const;
  expectSuccess(spawnSync(process.execPath, args, options));
}

describe("the packed packages", () => {
  test("can be imported", () => run("import.mjs"));

  test("can be required, and are CommonJS then", () => run("require.cjs"));

  test("can be required by a CommonJS test of Jest", () =>
    run(jest, "--config", '{"testEnvironment":"node","transform":{}}', "--no-watchman", "--ci"));

  test("work together when core is there twice, as ES modules and as CommonJS", () =>
    run("two-copies.mjs"));
});
