import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { ROOT } from "../docs/markdown.ts";
import { runTool } from "./run-tool.ts";

const TARBALLS = Object.entries(inject("tarballs"));

test.each(TARBALLS)(
  "@headgate/%s, packed, has nothing that publint would change",
  (_name, tarball) => {
    runTool(".bin/publint", ["run", "--strict", tarball]);
  },
);

/** The most files and KiB of each installed package. */
const SIZES = {
  breaker: { files: 9, kib: 105 },
  cli: { files: 245, kib: 530 },
  core: { files: 43, kib: 810 },
  dashboard: { files: 40, kib: 430 },
  express: { files: 9, kib: 24 },
  fastify: { files: 14, kib: 48 },
  fetch: { files: 9, kib: 60 },
  hono: { files: 9, kib: 30 },
  nestjs: { files: 10, kib: 44 },
  replay: { files: 27, kib: 158 },
  shed: { files: 9, kib: 40 },
  telemetry: { files: 12, kib: 50 },
} as const;

type Name = keyof typeof SIZES;

test("every package is packed", () => {
  expect(TARBALLS.map(([name]) => name).sort()).toEqual(Object.keys(SIZES));
});

const LIBRARIES = TARBALLS.filter(([name]) => name !== "cli");

test.each(LIBRARIES)(
  "@headgate/%s, packed, has types that every resolution of TypeScript finds",
  (_name, tarball) => {
    runTool(".bin/attw", [tarball]);
  },
);

describe.each(TARBALLS)("@headgate/%s, packed", (name, tarball) => {
  const files = filesIn(tarball);
  const paths = files.map(({ path }) => path);
  const manifest = JSON.parse(readPacked(tarball, "package.json"));

  test("contains its licence, README and the files of its package.json", () => {
    const named = pathsIn([manifest.main, manifest.types, manifest.bin, manifest.exports]);
    expect(named).not.toEqual([]);
    expect(paths).toEqual(
      expect.arrayContaining(["LICENSE", "README.md", ...named.filter((path) => !/\*/.test(path))]),
    );
  });

  test("contains no sources, source maps or tests", () => {
    const unwanted = /^src\/|\.map$|\.test\.|tsbuildinfo|(?<!\.d)\.[cm]?ts$/;
    expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
    const built = paths.filter((path) => /\.[cm]?[jt]s$/.test(path));
    expect(built.filter((path) => /sourceMappingURL/.test(readPacked(tarball, path)))).toEqual([]);
  });

  test("has the exports of the workspace without the source condition", () => {
    const { exports } = JSON.parse(
      readFileSync(join(ROOT, "packages", name, "package.json"), "utf8"),
    );
    for (const entry of Object.values<{ "@headgate/source"?: string }>(exports)) {
      delete entry["@headgate/source"];
    }
    expect(manifest.exports).toEqual(exports);
  });

  test("stays within its size", () => {
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    expect(files.length).toBeLessThanOrEqual(SIZES[name as Name].files);
    expect(bytes / 1_024).toBeLessThanOrEqual(SIZES[name as Name].kib);
  });
});

test("@headgate/cli, packed, brings the command and its schemas", () => {
  const paths = filesIn(inject("tarballs")["cli"] as string).map(({ path }) => path);
  const names = ["limiters", "breakers", "log"].map((name) => `schema/${name}.json`);
  expect(paths).toEqual(expect.arrayContaining(["dist/esm/headgate.js", ...names]));
});

function filesIn(tarball: string): { readonly path: string; readonly size: number }[] {
  const lines = execFileSync("tar", ["-tzvf", tarball], { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => {
    const [, , size, , , path = ""] = line.split(/\s+/);
    return { path: path.replace("package/", ""), size: Number(size) };
  });
}

function readPacked(tarball: string, path: string): string {
  return execFileSync("tar", ["-xzOf", tarball, `package/${path}`], { encoding: "utf8" });
}

/** The paths that a part of a package.json names, without the `./` in front. */
function pathsIn(part: unknown): string[] {
  if (typeof part === "string") return [part.replace("./", "")];
  return Object.values(part ?? {}).flatMap(pathsIn);
}
