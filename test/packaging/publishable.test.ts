import { execFileSync } from "node:child_process";
import { describe, expect, inject, test } from "vitest";
import { runTool } from "./run-tool.ts";

describe.each(Object.entries(inject("tarballs")))("@headgate/%s, packed", (_name, tarball) => {
  test("has nothing that publint would change", () => {
    runTool(".bin/publint", ["run", "--strict", tarball]);
  });

  test("has types that every resolution of TypeScript finds", () => {
    runTool(".bin/attw", [tarball]);
  });

  test("brings its licence and README, both builds and the sources, and no tests", () => {
    const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" }).split("\n");
    expect(files).toEqual(
      expect.arrayContaining(
        ["LICENSE", "README.md", "dist/esm/index.js", "dist/cjs/index.js", "src/index.ts"].map(
          (file) => `package/${file}`,
        ),
      ),
    );
    expect(files.filter((file) => /\.test\.|tsbuildinfo/.test(file))).toEqual([]);
  });
});

test("every package is packed", () => {
  expect(Object.keys(inject("tarballs")).sort()).toEqual([
    "breaker",
    "core",
    "express",
    "fastify",
    "telemetry",
  ]);
});
