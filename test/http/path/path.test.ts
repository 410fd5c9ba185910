import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, test } from "vitest";

/** A function of our sources, and how often one request called it. */
interface CalledFunction {
  readonly file: string;
  readonly name: string;
  readonly count: number;
}

/** The length of a path. */
interface Path {
  readonly files: number;
  readonly functions: number;
  readonly calls: number;
}

type StoreKind = "memory" | "redis";

/**
 * A generous bound for a warm, allowed request, about twice the path of November 2026 (memory 22 files, 55 functions, 59 calls; Redis 28,
 * 95, 106): a refactoring may add a few calls, but not another layer on the way. The benchmarks measure what the path costs.
 */
const MAX_ON_EXPRESS: Readonly<Record<StoreKind, Path>> = {
  memory: { files: 44, functions: 110, calls: 120 },
  redis: { files: 56, functions: 190, calls: 210 },
};

/** The most calls that Fastify may add to those on Express. */
const MAX_MORE_ON_FASTIFY = 10;

let paths: Readonly<Record<`${"express" | "fastify"} ${StoreKind}`, readonly CalledFunction[]>>;

/** Measured in a process of its own, which loads the sources file by file: functions are as written, and nothing else is counted. */
beforeAll(async () => {
  const program = join(import.meta.dirname, "one-request.mjs");
  const args = ["--conditions=@headgate/source", program, inject("redisSocket")];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 });
  paths = JSON.parse(stdout);
});

function lengthOf(path: readonly CalledFunction[]): Path {
  const files = new Set(path.map(({ file }) => file)).size;
  const calls = path.reduce((sum, { count }) => sum + count, 0);
  return { files, functions: path.length, calls };
}

/** The length of a path and all functions on it, for the message of a failure. */
function formatPath(path: readonly CalledFunction[]): string {
  const { files, functions, calls } = lengthOf(path);
  const lines = path.map(({ file, name, count }) => `${count} ${file} ${name}`);
  return [`${files} files, ${functions} functions, ${calls} calls`, ...lines].join("\n");
}

describe.each(["memory", "redis"] as const)("an allowed request counted in %s", (store) => {
  test("an allowed request runs few files, functions and calls on Express", () => {
    const path = paths[`express ${store}`];
    const { files, functions, calls } = lengthOf(path);
    const max = MAX_ON_EXPRESS[store];
    const message = `of at most ${JSON.stringify(max)}: ${formatPath(path)}`;
    expect(files, message).toBeLessThanOrEqual(max.files);
    expect(functions, message).toBeLessThanOrEqual(max.functions);
    expect(calls, message).toBeLessThanOrEqual(max.calls);
    // The measurement saw our functions at all.
    expect(path.map(({ name }) => name)).toContain("check");
  });

  test(`passes at most ${MAX_MORE_ON_FASTIFY} calls more on Fastify than on Express`, () => {
    const path = paths[`fastify ${store}`];
    const { calls } = lengthOf(paths[`express ${store}`]);
    const message = `of ${calls} on Express and ${MAX_MORE_ON_FASTIFY} more: ${formatPath(path)}`;
    expect(lengthOf(path).calls, message).toBeLessThanOrEqual(calls + MAX_MORE_ON_FASTIFY);
  });
});
