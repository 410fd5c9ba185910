import { execFileSync } from "node:child_process";
import { describe, expect, inject, test } from "vitest";
import { runTool } from "./run-tool.ts";

const TARBALLS = Object.entries(inject("tarballs"));

test.each(TARBALLS)(
  "@headgate/%s, packed, has nothing that publint would change",
  (_name, tarball) => {
    runTool(".bin/publint", ["run", "--strict", tarball]);
  },
);

const LIBRARIES = TARBALLS.filter(([name]) => name !== "cli");

describe.each(LIBRARIES)("@headgate/%s, packed", (_name, tarball) => {
  test("has types that every resolution of TypeScript finds", () => {
    runTool(".bin/attw", [tarball]);
  });

  test("brings its licence and README, both builds and the sources, and no tests", () => {
    expectFiles(tarball, [
      "LICENSE",
      "README.md",
      "dist/esm/index.js",
      "dist/cjs/index.js",
      "src/index.ts",
    ]);
  });
});

test("@headgate/cli, packed, brings its licence and README, the command, its sources and its schemas, and no tests", () => {
  const files = [
    ...["LICENSE", "README.md", "dist/esm/headgate.js", "src/headgate.ts"],
    ...["schema/limiters.json", "schema/breakers.json", "schema/log.json"],
  ];
  expectFiles(inject("tarballs")["cli"] as string, files);
});

function expectFiles(tarball: string, expected: readonly string[]): void {
  const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" }).split("\n");
  expect(files).toEqual(expect.arrayContaining(expected.map((file) => `package/${file}`)));
  expect(files.filter((file) => /\.test\.|tsbuildinfo/.test(file))).toEqual([]);
}

test("every package is packed", () => {
  expect(Object.keys(inject("tarballs")).sort()).toEqual([
    "breaker",
    "cli",
    "core",
    "express",
    "fastify",
    "telemetry",
  ]);
});
