import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { expectSuccess } from "./run-tool.ts";

const jest = createRequire(import.meta.url).resolve("jest/bin/jest");
const nest11 = join(import.meta.dirname, "../nest11/node_modules/@nestjs");

/** Runs Node as a consumer would. Our own condition is off: the sources must not be what answers. */
function run(...args: readonly string[]): string {
  const env = { ...process.env, NODE_OPTIONS: "", NODE_ENV: "test" };
  const options = { cwd: inject("consumer"), env, encoding: "utf8", timeout: 170_000 } as const;
  const result = spawnSync(process.execPath, args, options);
  expectSuccess(result);
  return result.stdout;
}

describe("the packed packages", () => {
  test("can be imported", () => {
    run("import.mjs");
  });

  test("can be required as CommonJS", () => {
    run("require.cjs");
  });

  test("can be required by a CommonJS test of Jest", () => {
    // Jest loads the ES modules of Nest 12 from CommonJS only on Node 24.9 or later.
    const moduleNameMapper = { "^@nestjs/(.*)$": `${nest11}/$1` };
    const config = { testEnvironment: "node", transform: {}, moduleNameMapper };
    run(jest, "--config", JSON.stringify(config), "--no-watchman", "--ci");
  });

  test("export the same objects to import and to require, and all names of the sources", async () => {
    const names: Readonly<Record<string, readonly string[]>> = JSON.parse(run("exports.mjs"));
    expect(Object.keys(names)).toHaveLength(17);
    for (const [entry, found] of Object.entries(names)) {
      expect([entry, found]).toEqual([entry, Object.keys(await import(entry)).sort()]);
    }
  });

  test("have no circular imports", () => {
    run("alone.cjs");
  });

  test("load little code for Express, and no other package", () => {
    const { bytes, others } = JSON.parse(run("loaded.cjs"));
    expect(others).toEqual([]);
    expect(bytes / 1_024).toBeLessThanOrEqual(372);
  });

  test("work together when two copies are in one process", () => {
    run("two-copies.mjs");
  });
});
