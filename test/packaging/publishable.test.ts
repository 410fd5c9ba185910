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
    ...["LICENSE", "README.md", "bin/headgate.js", "dist/esm/headgate.js", "src/headgate.ts"],
    ...["schema/limiters.json", "schema/breakers.json", "schema/log.json"],
  ];
  expectFiles(inject("tarballs")["cli"] as string, files);
});

function expectFiles(tarball: string, expected: readonly string[]): void {
  const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" }).split("\n");
  expect(files).toEqual(expect.arrayContaining(expected.map((file) => `package/${file}`)));
  expect(files.filter((file) => /\.test\.|tsbuildinfo/.test(file))).toEqual([]);
}

/** KiB of a package when it is installed: two builds, their types, and the sources that source maps lead to. */
const SIZES = { breaker: 620, cli: 1_700, core: 4_100, express: 95, fastify: 245, telemetry: 170 };

test("every package is packed, and stays within its size", () => {
  const sizes = TARBALLS.map(([name, tarball]) => [name, unpackedBytes(tarball) / 1024] as const);
  expect(sizes.map(([name]) => name).sort()).toEqual(Object.keys(SIZES));
  for (const [name, size] of sizes) {
    expect(size, name).toBeLessThanOrEqual(SIZES[name as keyof typeof SIZES]);
  }
});

function unpackedBytes(tarball: string): number {
  const files = execFileSync("tar", ["-tzvf", tarball], { encoding: "utf8" }).trim().split("\n");
  return files.reduce((sum, file) => sum + Number(file.split(/\s+/)[2]), 0);
}
